import {
  type PostgresCursor,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from 'kysely';
import { DatabaseError, Pool, type PoolClient, TypeOverrides, types } from 'pg';
import { bindable } from '../bindable.js';
import { DatabaseValueError } from '../database.errors.js';
import { translatePostgresError } from './postgres-errors.js';

/** How the PostgreSQL pool behaves. */
export interface PostgresOptions {
  readonly url: string;
  /** @default 10 */
  readonly maxConnections?: number;
  /** How long a query may take until the caller is told so, in ms; 0 for no limit. @default 30000 */
  readonly queryTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 10;
// For this pool only: pg's own setTypeParser would change every pool of the process.
function integersAsBigint(): TypeOverrides {
  const overrides = new TypeOverrides();
  for (const type of [types.builtins.INT2, types.builtins.INT4, types.builtins.INT8]) {
    overrides.setTypeParser(type, BigInt);
  }
  return overrides;
}

// Host, port and database without the credentials, for messages.
function serverName(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch {
    return 'the configured URL';
  }
}

class Client implements PostgresPoolClient {
  private broken = false;

  constructor(
    private readonly client: PoolClient,
    private readonly server: string,
  ) {}

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query<R>(
    sql: string | PostgresCursor<R>,
    parameters: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof sql !== 'string') throw new Error('Cursors are not offered. Read in pages instead.');
    return this.run<R>(sql, parameters);
  }

  release(destroy?: boolean): void {
    this.client.release(destroy === true || this.broken);
  }

  private async run<R>(
    sql: string,
    parameters: readonly unknown[],
  ): Promise<PostgresQueryResult<R>> {
    try {
      const result = await this.client.query(sql, bindable(parameters));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows are what the schema says
      return result as unknown as PostgresQueryResult<R>;
    } catch (error) {
      // After a time-out the reply may still come: such a connection must not serve anyone else.
      if (!(error instanceof DatabaseError) && !(error instanceof DatabaseValueError)) {
        this.broken = true;
      }
      throw translatePostgresError(error, this.server);
    }
  }
}

/**
 * A pg pool as Kysely wants it, with our rules: integers come back as bigint, parameters pass
 * `bindable`, trouble is a DatabaseUnavailableError, a connection in doubt is thrown away.
 */
export class TranslatingPool implements PostgresPool {
  private readonly pool: Pool;
  private readonly server: string;

  constructor(options: PostgresOptions) {
    const queryTimeoutMs = options.queryTimeoutMs ?? QUERY_TIMEOUT_MS;
    this.server = serverName(options.url);
    this.pool = new Pool({
      connectionString: options.url,
      max: options.maxConnections ?? MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: queryTimeoutMs,
      // The server gives up first, so that a slow query does not cost its connection.
      statement_timeout: Math.floor(queryTimeoutMs * 0.9),
      idle_in_transaction_session_timeout: queryTimeoutMs,
      keepAlive: true,
      types: integersAsBigint(),
    });
    // Unheard, these events would end the process. The pool replaces an idle connection that breaks;
    // on one in use the query itself rejects too.
    const heard = (): void => undefined;
    this.pool.on('error', heard);
    this.pool.on('connect', (client) => client.on('error', heard));
  }

  async connect(): Promise<PostgresPoolClient> {
    try {
      return new Client(await this.pool.connect(), this.server);
    } catch (error) {
      throw translatePostgresError(error, this.server);
    }
  }

  end(): Promise<void> {
    return this.pool.end();
  }
}
