import { type OnApplicationShutdown } from '@nestjs/common';
import { Kysely, sql, type Transaction } from 'kysely';
import { type DatabaseOptions } from './database-options.js';
import { DatabaseUnavailableError } from './database.errors.js';
import { createDialect, type DatabaseDialect, dialectOf } from './dialect.js';
import { migrate } from './migrate.js';
import { type Schema } from './schema.js';
import { serverTime } from './server-time.js';

const PING_TIMEOUT_MS = 2_000;

/**
 * The service's database, migrated and ready. Trouble with it is a DatabaseUnavailableError from
 * every query. Inside a transaction use only its handle, and await nothing but the database: on
 * SQLite it holds the one connection.
 */
export class Database implements OnApplicationShutdown {
  private constructor(
    readonly dialect: DatabaseDialect,
    /** The typed query builder. Each query is a transaction of its own. */
    readonly kysely: Kysely<Schema>,
  ) {}

  /** Runs the migrations and opens the database. @throws DatabaseUnavailableError, MigrationError */
  static async open(options: DatabaseOptions): Promise<Database> {
    await migrate(options);
    return new Database(
      dialectOf(options),
      new Kysely<Schema>({ dialect: createDialect(options) }),
    );
  }

  /** Runs `work` as one transaction: all of its writes or none. Its error rolls back and comes out. */
  transaction<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T> {
    return this.kysely.transaction().execute(work);
  }

  /**
   * Resolves when the database answers a query within `timeoutMs`, with its time in ms since the epoch
   * (on SQLite this process's). @throws DatabaseUnavailableError
   */
  async ping(timeoutMs = PING_TIMEOUT_MS): Promise<number> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new DatabaseUnavailableError(`no answer within ${timeoutMs} ms.`));
      }, timeoutMs);
    });
    try {
      const query = sql<{ now: bigint }>`select ${serverTime(this)} as now`;
      const { rows } = await Promise.race([query.execute(this.kysely), late]);
      return Number(rows[0]?.now);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for running queries and closes every connection. Later queries fail. */
  async close(): Promise<void> {
    await this.kysely.destroy();
  }

  /** Called by Nest when the last request is answered. */
  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
