import { type Kysely, sql } from 'kysely';
import { type MigrationSchema, type MigrationTypes } from './migration-types.js';

/** Documents with their contents and passages. */
export async function createDocuments(
  db: Kysely<MigrationSchema>,
  types: MigrationTypes,
): Promise<void> {
  await db.schema
    .createTable('documents')
    .addColumn('id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('media_type', 'text', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) =>
      column.notNull().check(sql`state in ('uploaded', 'processing', 'ready', 'failed')`),
    )
    .addColumn('stage', 'text')
    .addColumn('stage_done', 'bigint')
    .addColumn('stage_total', 'bigint')
    .addColumn('pages', 'bigint')
    .addColumn('chunks', 'bigint')
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .addColumn('generation', 'bigint')
    .addColumn('processed_hash', 'text')
    .addColumn('error_code', 'text')
    .addColumn('error_message', 'text')
    .addColumn('deleted', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('processed_at', 'bigint')
    .addColumn('replica', 'text')
    .execute();
  await db.schema
    .createIndex('documents_by_age')
    .on('documents')
    .columns(['created_at', 'id'])
    .execute();
  await db.schema
    .createTable('document_contents')
    .addColumn('document_id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .addColumn('bytes', types.bytes, (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('passages')
    .addColumn('document_id', types.id, (column) => column.notNull())
    .addColumn('generation', 'bigint', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('page', 'bigint')
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('embedding', types.bytes, (column) => column.notNull())
    .addPrimaryKeyConstraint('passages_key', ['document_id', 'generation', 'seq'])
    .execute();
}
