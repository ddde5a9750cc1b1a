import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PLACE_DEAD_MS, TURN_MS } from '../../core/lock-store.js';
import { LockOptionsError } from '../../core/lock.errors.js';
import type { PostgresClient } from './postgres-client.js';

const A_DAY_US = 86_400_000_000;
/** Any number of our own: two replicas that start at once must not both create the tables. */
const SETUP_LOCK = 0x646f636c6f636bn;

/** The tables and functions of a lock store in one schema of a database. */
export class PostgresSchema {
  /** As SQL spells it. */
  readonly quoted: string;
  private readonly text: string;
  private readonly mark: string;

  /** @throws LockOptionsError for a name that PostgreSQL would cut or fold */
  constructor(readonly name: string) {
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name)) {
      throw new LockOptionsError(
        `The schema ${JSON.stringify(name)} of the lock store "postgres" is not a plain name. Use up to 63 lower-case letters, digits and "_", such as "doclock".`,
      );
    }
    this.quoted = `"${name}"`;
    const values: Record<string, string> = {
      SCHEMA: this.quoted,
      SCOPE: `'${this.scope}'`,
      DEAD_US: String(PLACE_DEAD_MS * 1000),
      RESERVED_US: String(TURN_MS * 1000),
      KEEP_US: String(A_DAY_US),
    };
    this.text = readFileSync(new URL('schema.sql', import.meta.url), 'utf8').replaceAll(
      /\$([A-Z_]+)/g,
      (_match, key: string) => {
        const value = values[key];
        if (value === undefined) throw new Error(`schema.sql: no constant ${key}`);
        return value;
      },
    );
    this.mark = `doclock ${createHash('sha256').update(this.text).digest('hex').slice(0, 16)}`;
  }

  /** The channel on which a process is told that a lock is kept for it, or was revoked. */
  channelOf(process: string): string {
    const digest = createHash('md5').update(this.scope).update(process).digest('hex');
    return `doclock_${digest}`;
  }

  private get scope(): string {
    return `${this.name} `;
  }

  /**
   * Makes the tables and functions where they are missing or of another version of this package; else costs one
   * query. @throws what the driver throws
   */
  async ensure(client: PostgresClient): Promise<void> {
    if (await this.isThere(client)) return;
    await client.query('begin');
    try {
      await client.query('select pg_advisory_xact_lock($1)', [String(SETUP_LOCK)]);
      if (!(await this.isThere(client))) {
        const { rows } = await client.query('select to_regnamespace($1) as found', [this.quoted]);
        // Asked first: "if not exists" needs the right to create schemas even where there is one.
        if (rows[0]?.['found'] === null) await client.query(`create schema ${this.quoted}`);
        await client.query(this.text);
        await client.query(`comment on table ${this.quoted}.locks is '${this.mark}'`);
      }
      await client.query('commit');
    } catch (error) {
      await client.query('rollback');
      throw error;
    }
  }

  private async isThere(client: PostgresClient): Promise<boolean> {
    const { rows } = await client.query(
      `select obj_description(to_regclass($1), 'pg_class') as mark`,
      [`${this.quoted}.locks`],
    );
    return rows[0]?.['mark'] === this.mark;
  }
}
