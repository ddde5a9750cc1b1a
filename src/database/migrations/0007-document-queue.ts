import { type Kysely } from 'kysely';
import { type MigrationSchema, type MigrationTypes } from './migration-types.js';

/** Documents that wait to be processed, and those that were taken from there and are not done yet. */
export async function createDocumentQueue(
  db: Kysely<MigrationSchema>,
  types: MigrationTypes,
): Promise<void> {
  await db.schema
    .createTable('document_queue')
    .addColumn('document_id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('ticket', 'bigint', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('under_way', 'bigint', (column) => column.notNull())
    .addColumn('accepted', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'bigint', (column) => column.notNull())
    .addColumn('held_until', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('document_queue_by_ticket')
    .on('document_queue')
    .columns(['ticket', 'document_id', 'under_way', 'held_until']) // all that places are counted by
    .execute();
}
