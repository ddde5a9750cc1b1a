import { type Kysely } from 'kysely';
import { type MigrationSchema } from './migration-types.js';

/** Which model the published passages of a document were embedded by; null: it was not noted. */
export async function addEmbeddingModels(db: Kysely<MigrationSchema>): Promise<void> {
  await db.schema.alterTable('documents').addColumn('embedding_model', 'text').execute();
}
