import { type Kysely } from 'kysely';
import { type MigrationSchema } from './migration-types.js';

/** What a language model made of the passages of a conversation. */
export async function addAnswers(db: Kysely<MigrationSchema>): Promise<void> {
  await db.schema.alterTable('conversations').addColumn('answer', 'text').execute();
}
