import { type Kysely } from 'kysely';
import { type MigrationSchema, type MigrationTypes } from './migration-types.js';

/** What is known of idempotency keys. */
export async function createIdempotencyRecords(
  db: Kysely<MigrationSchema>,
  types: MigrationTypes,
): Promise<void> {
  await db.schema
    .createTable('idempotency_records')
    .addColumn('id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .addColumn('status', 'bigint')
    .addColumn('headers', 'text')
    .addColumn('body', 'text')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('idempotency_records_by_expiry')
    .on('idempotency_records')
    .columns(['expires_at'])
    .execute();
}
