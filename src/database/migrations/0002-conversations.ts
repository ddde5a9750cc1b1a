import { type Kysely } from 'kysely';
import { type MigrationSchema, type MigrationTypes } from './migration-types.js';

/** Questions about documents, with their answers. */
export async function createConversations(
  db: Kysely<MigrationSchema>,
  types: MigrationTypes,
): Promise<void> {
  await db.schema
    .createTable('conversations')
    .addColumn('id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('document_id', types.id, (column) => column.notNull())
    .addColumn('question', 'text', (column) => column.notNull())
    .addColumn('passages', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('replica', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('conversations_by_age')
    .on('conversations')
    .columns(['created_at', 'id'])
    .execute();
  await db.schema
    .createIndex('conversations_by_document')
    .on('conversations')
    .columns(['document_id', 'created_at', 'id'])
    .execute();
}
