import { type Kysely, sql } from 'kysely';
import { type MigrationSchema } from './migration-types.js';

/**
 * What the removal of old data goes by, and indexes for lists that would walk over deleted documents, old
 * ticks and all fences otherwise.
 */
export async function addUpkeep(db: Kysely<MigrationSchema>): Promise<void> {
  await db.schema.alterTable('documents').addColumn('sweep_at', 'bigint').execute();
  // Earlier versions have left passages behind without a note of it.
  await sql`update documents set sweep_at = 0 where fence > 0`.execute(db);
  await db.schema
    .createIndex('documents_to_sweep')
    .on('documents')
    .column('sweep_at')
    .where(sql<boolean>`sweep_at is not null`)
    .execute();
  await db.schema.dropIndex('documents_by_age').execute();
  await db.schema
    .createIndex('documents_listed')
    .on('documents')
    .columns(['deleted', 'created_at', 'id'])
    .execute();
  await db.schema.createIndex('documents_by_fence').on('documents').column('fence').execute();
  await db.schema
    .createIndex('idempotency_records_by_fence')
    .on('idempotency_records')
    .column('fence')
    .execute();
  await db.schema
    .alterTable('ticks')
    .addColumn('expires_at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`
    update ticks set expires_at = started_at
      + case when outcome like 'skipped-%' then 86400000 else 7776000000 end`.execute(db);
  await db.schema.createIndex('ticks_by_expiry').on('ticks').column('expires_at').execute();
  await db.schema
    .createIndex('ticks_by_outcome')
    .on('ticks')
    .columns(['job', 'started_at', 'outcome'])
    .execute();
}
