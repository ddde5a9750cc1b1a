import { type Kysely, type Transaction } from 'kysely';
import { DatabaseUnavailableError, MigrationError } from './database.errors.js';
import { type DatabaseDialect } from './dialect.js';
import { type Migration, migrations } from './migrations/index.js';
import { type MigrationSchema, migrationTypes } from './migrations/migration-types.js';

async function apply(
  transaction: Transaction<MigrationSchema>,
  dialect: DatabaseDialect,
  migration: Migration,
): Promise<void> {
  try {
    await migration.up(transaction, migrationTypes(dialect));
    await transaction
      .insertInto('schema_migrations')
      .values({ name: migration.name, applied_at: Date.now() })
      .execute();
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) throw error;
    throw new MigrationError(
      `Migration "${migration.name}" failed and was undone: ${error instanceof Error ? error.message : 'unknown error'}. Repair what it names and start again.`,
      { cause: error },
    );
  }
}

/**
 * Runs the migrations that the database has not seen, all in one transaction (both databases undo
 * changes of the schema too). The caller holds the migration lock.
 * @returns the names of those it ran
 * @throws MigrationError, DatabaseUnavailableError
 */
export async function runMigrations(
  db: Kysely<MigrationSchema>,
  dialect: DatabaseDialect,
  list: readonly Migration[] = migrations,
): Promise<string[]> {
  await db.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute();
  return db.transaction().execute(async (transaction) => {
    const rows = await transaction.selectFrom('schema_migrations').select('name').execute();
    const applied = new Set(rows.map((row) => row.name));
    const pending = list.filter((migration) => !applied.delete(migration.name));
    if (applied.size > 0) {
      throw new MigrationError(
        `The database was migrated by a newer version of this service, which this one does not know (${[...applied].join(', ')}). Start that version, or restore a backup from before.`,
      );
    }
    for (const migration of pending) await apply(transaction, dialect, migration);
    return pending.map((migration) => migration.name);
  });
}
