import path from 'node:path';
import { type Dialect, PostgresDialect } from 'kysely';
import { type DatabaseOptions } from './database-options.js';
import { TranslatingPool } from './postgres/postgres-pool.js';
import { LibsqlDialect } from './sqlite/libsql.dialect.js';

/** Which database is in use. */
export type DatabaseDialect = 'sqlite' | 'postgres';

// In the data folder.
const SQLITE_FILE = 'doclock.sqlite';

/** PostgreSQL when a URL is given, else SQLite. */
export function dialectOf(options: DatabaseOptions): DatabaseDialect {
  return (options.url ?? null) === null ? 'sqlite' : 'postgres';
}

/** Kysely's dialect for these options. Nothing is opened before the first query. */
export function createDialect(
  options: DatabaseOptions,
  pool: { maxConnections?: number; queryTimeoutMs?: number } = {},
): Dialect {
  const url = options.url ?? null;
  return url === null
    ? new LibsqlDialect({ path: path.join(options.dataDir, SQLITE_FILE) })
    : new PostgresDialect({ pool: new TranslatingPool({ url, ...pool }) });
}
