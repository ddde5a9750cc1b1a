import path from 'node:path';
import { Kysely, sql } from 'kysely';
import { type DatabaseOptions } from './database-options.js';
import { DatabaseUnavailableError } from './database.errors.js';
import { createDialect, dialectOf } from './dialect.js';
import { type MigrationSchema } from './migrations/migration-types.js';
import { runMigrations } from './run-migrations.js';
import { FileLock } from './sqlite/file-lock.js';

/** How long a start waits for another process that is migrating the same database. */
const MIGRATION_WAIT_MS = 120_000;
// "doclock" in ASCII: tells this lock from any other in the same PostgreSQL database.
const ADVISORY_LOCK_KEY = 0x646f636c6f636bn;

async function migratePostgres(options: DatabaseOptions): Promise<string[]> {
  // One connection of its own: the lock belongs to the session, and the server frees it with it.
  const dialect = createDialect(options, { maxConnections: 1, queryTimeoutMs: 0 });
  const db = new Kysely<MigrationSchema>({ dialect });
  try {
    return await db.connection().execute(async (session) => {
      await sql`select set_config('lock_timeout', ${String(MIGRATION_WAIT_MS)}, false)`.execute(
        session,
      );
      await sql`select pg_advisory_lock(${ADVISORY_LOCK_KEY})`.execute(session);
      return await runMigrations(session, 'postgres');
    });
  } finally {
    await db.destroy();
  }
}

async function migrateSqlite(options: DatabaseOptions): Promise<string[]> {
  const file = path.join(options.dataDir, 'migrate.lock');
  const lock = await FileLock.acquire(file, 'exclusive', MIGRATION_WAIT_MS);
  if (lock === null) {
    throw new DatabaseUnavailableError(
      `another process has been migrating it for ${MIGRATION_WAIT_MS} ms (it holds ${file}). Look at that process, end it, and start again.`,
    );
  }
  const db = new Kysely<MigrationSchema>({ dialect: createDialect(options) });
  try {
    return await runMigrations(db, 'sqlite');
  } finally {
    await db.destroy();
    await lock.release();
  }
}

/**
 * Brings the schema up to date, however many processes start at once: each migration runs once, all
 * or none of a start's migrations happen, and a process that dies frees the way at once.
 * @returns the names of the migrations that this call has run
 * @throws MigrationError, DatabaseUnavailableError
 */
export function migrate(options: DatabaseOptions): Promise<string[]> {
  return dialectOf(options) === 'postgres' ? migratePostgres(options) : migrateSqlite(options);
}
