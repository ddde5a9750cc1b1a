import { type Kysely, sql } from 'kysely';
import { type MigrationSchema, type MigrationTypes } from './migration-types.js';

// In bytes; readers do not depend on it.
const pieceBytes = 262_144;

/** Contents in pieces that are written and read one by one, and the uploads that have not been published yet. */
export async function cutContents(
  db: Kysely<MigrationSchema>,
  types: MigrationTypes,
): Promise<void> {
  await db.schema
    .createTable('content_pieces')
    .addColumn('content_id', types.id, (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('bytes', types.bytes, (column) => column.notNull())
    .addPrimaryKeyConstraint('content_pieces_key', ['content_id', 'seq'])
    .execute();
  await db.schema
    .createTable('uploads')
    .addColumn('id', types.id, (column) => column.primaryKey().notNull())
    .addColumn('begun_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.alterTable('documents').addColumn('content_id', types.id).execute();
  await sql`
    insert into content_pieces (content_id, seq, bytes)
    with recursive cuts (document_id, seq, start, size) as (
      select document_id, cast(0 as bigint), cast(1 as integer), length(bytes)
      from document_contents where length(bytes) > 0
      union all
      select document_id, seq + 1, start + ${sql.lit(pieceBytes)}, size
      from cuts where start + ${sql.lit(pieceBytes)} <= size
    )
    select cuts.document_id, seq, substr(bytes, start, ${sql.lit(pieceBytes)})
    from cuts join document_contents on document_contents.document_id = cuts.document_id
  `.execute(db);
  await sql`
    update documents set content_id = id
    where id in (select document_id from document_contents)
  `.execute(db);
  await db.schema.dropTable('document_contents').execute();
}
