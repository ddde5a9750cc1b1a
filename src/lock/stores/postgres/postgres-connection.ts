import { LockError, LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import {
  openPool,
  type OwnPool,
  type PostgresClient,
  type PostgresPool,
} from './postgres-client.js';
import type { PostgresSchema } from './postgres-schema.js';

const CONNECT_TIMEOUT_MS = 2_000;

/** Where the database is: its address, or a pool of the application's. */
export interface PostgresAddress {
  readonly url: string | undefined;
  readonly pool: PostgresPool | undefined;
  readonly maxConnections: number;
  readonly queryTimeoutMs: number;
}

/** SQLSTATE classes of a server that goes away, has gone to standby, or refuses connections: such a connection is thrown away. */
const SERVER_LEAVES = /^(?:08|57P|25006)/;
const NO_RIGHT = '42501';

/**
 * Statements of the lock store, each sent once, on a connection of the pool, with a time-out of its own. A
 * connection in doubt serves nobody else.
 */
export class PostgresConnection {
  private opening: Promise<PostgresPool> | undefined;
  private own: OwnPool | undefined;
  private preparing: Promise<void> | undefined;
  private wasAway = false;
  private isClosed = false;

  constructor(
    private readonly address: PostgresAddress,
    private readonly schema: PostgresSchema,
    /** The first answer after the server was away. */
    private readonly onReconnect: () => void,
  ) {}

  /** Loads the client library. @throws LockOptionsError where it is not installed */
  async open(): Promise<void> {
    await this.pool();
  }

  /**
   * The rows that one statement gives.
   * @throws LockUnavailableError; LockOptionsError where the tables are missing and cannot be made
   */
  async ask<R extends object>(
    name: string | undefined,
    sql: string,
    values: readonly unknown[],
  ): Promise<R[]> {
    const client = await this.connect(name);
    try {
      await this.prepare(client, name);
      const query = { text: sql, values: [...values], query_timeout: this.address.queryTimeoutMs };
      const { rows } = await client.query(query);
      client.release();
      this.answered();
      return rows as R[];
    } catch (error) {
      const { code } = error as { code?: string };
      const isOver = code === undefined || SERVER_LEAVES.test(code);
      client.release(isOver && !(error instanceof LockError));
      if (isOver) this.wasAway = true;
      throw error instanceof LockError ? error : unavailable(name, error as Error);
    }
  }

  /** A connection for one user alone, which has to give it back. @throws LockUnavailableError */
  async connect(name: string | undefined): Promise<PostgresClient> {
    const pool = await this.pool();
    if (this.isClosed) {
      const why = 'the PostgreSQL lock store is closed';
      throw new LockUnavailableError(name, why, { mayHaveRun: false });
    }
    try {
      return await pool.connect();
    } catch (cause) {
      this.wasAway = true;
      const why = `PostgreSQL: ${(cause as Error).message}`;
      throw new LockUnavailableError(name, why, { cause, mayHaveRun: false });
    }
  }

  /** Ends the pool, unless it was handed in. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.own?.end();
  }

  private pool(): Promise<PostgresPool> {
    this.opening ??= this.openPool();
    return this.opening;
  }

  private async openPool(): Promise<PostgresPool> {
    const { url, pool, maxConnections } = this.address;
    if (pool) return pool;
    this.own = await openPool({
      connectionString: url,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      allowExitOnIdle: true,
    });
    // Without a listener these events end the process. The pool replaces an idle connection that breaks;
    // on one in use the query itself rejects too.
    const known = (): void => undefined;
    this.own.on('error', known);
    this.own.on('connect', (client) => client.on('error', known));
    return this.own;
  }

  /** The tables are looked for once, by whoever comes first and finds the server. */
  private prepare(client: PostgresClient, name: string | undefined): Promise<void> {
    this.preparing ??= this.schema.ensure(client).catch((error: Error & { code?: string }) => {
      this.preparing = undefined;
      if (error.code !== NO_RIGHT) throw unavailable(name, error, false);
      throw new LockOptionsError(
        `The lock store "postgres" may not make its tables in the schema "${this.schema.name}" (${error.message}). Run once as an administrator: create schema ${this.schema.name} authorization <the user of this service>.`,
      );
    });
    return this.preparing;
  }

  private answered(): void {
    if (!this.wasAway) return;
    this.wasAway = false;
    this.onReconnect();
  }
}

/** An error of a statement: a refused one was rolled back, and has done nothing. */
function unavailable(
  name: string | undefined,
  cause: Error & { severity?: string },
  mayHaveRun = cause.severity !== 'ERROR',
): LockUnavailableError {
  return new LockUnavailableError(name, `PostgreSQL: ${cause.message}`, { cause, mayHaveRun });
}
