import { type Kysely } from 'kysely';
import { createDocuments } from './0001-documents.js';
import { createConversations } from './0002-conversations.js';
import { createArchives } from './0003-archives.js';
import { createIdempotencyRecords } from './0004-idempotency.js';
import { addAnswers } from './0005-answers.js';
import { addEmbeddingModels } from './0006-embedding-models.js';
import { createDocumentQueue } from './0007-document-queue.js';
import { cutContents } from './0008-content-pieces.js';
import { addUpkeep } from './0009-upkeep.js';
import { type MigrationSchema, type MigrationTypes } from './migration-types.js';

/** One step of the schema's history. */
export interface Migration {
  /** Stored in the database. Never rename, remove, reorder or edit a migration that was released. */
  readonly name: string;
  up(db: Kysely<MigrationSchema>, types: MigrationTypes): Promise<void>;
}

/** All migrations in their order, the one list for both databases. */
export const migrations: readonly Migration[] = [
  { name: '0001-documents', up: createDocuments },
  { name: '0002-conversations', up: createConversations },
  { name: '0003-archives', up: createArchives },
  { name: '0004-idempotency', up: createIdempotencyRecords },
  { name: '0005-answers', up: addAnswers },
  { name: '0006-embedding-models', up: addEmbeddingModels },
  { name: '0007-document-queue', up: createDocumentQueue },
  { name: '0008-content-pieces', up: cutContents },
  { name: '0009-upkeep', up: addUpkeep },
];
