import { type Kysely } from 'kysely';
import { type MigrationSchema, type MigrationTypes } from './migration-types.js';

/** Archives of conversations, and the ticks of the job that writes them. */
export async function createArchives(
  db: Kysely<MigrationSchema>,
  types: MigrationTypes,
): Promise<void> {
  await db.schema
    .createTable('archives')
    .addColumn('id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .addColumn('conversations', 'bigint', (column) => column.notNull())
    .addColumn('oldest_at', 'bigint', (column) => column.notNull())
    .addColumn('newest_at', 'bigint', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('gzip', types.bytes, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('replica', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('archives_by_age')
    .on('archives')
    .columns(['created_at', 'id'])
    .execute();
  await db.schema
    .createTable('writer_fences')
    .addColumn('name', types.id, (column) => column.primaryKey().notNull())
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('tick_marks')
    .addColumn('job', types.id, (column) => column.primaryKey().notNull())
    .addColumn('tick_ms', 'bigint')
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('ticks')
    .addColumn('id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('job', types.id, (column) => column.notNull())
    .addColumn('scheduled_at', 'bigint')
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('replica', 'text', (column) => column.notNull())
    .addColumn('fence', 'bigint')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'bigint')
    .addColumn('detail', 'text')
    .execute();
  await db.schema
    .createIndex('ticks_by_age')
    .on('ticks')
    .columns(['job', 'started_at', 'id'])
    .execute();
}
