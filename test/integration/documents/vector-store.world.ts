import { type Database } from '../../../src/database/index.js';
import { DocumentRunsRepository } from '../../../src/documents/document-runs.repository.js';
import { ContentsRepository } from '../../../src/documents/contents/contents.repository.js';
import { DocumentsRepository } from '../../../src/documents/documents.repository.js';
import { type VectorStore } from '../../../src/documents/ports/vector-store.js';
import { staged } from '../../support/staged.js';
import { type VectorStoreWorld } from './vector-store.contract.js';

/** The documents of a real database around a vector store. */
export function worldAround(database: Database, store: VectorStore): VectorStoreWorld {
  const documents = new DocumentsRepository(database, new ContentsRepository(database));
  const runs = new DocumentRunsRepository(database);
  return {
    store,
    async put(id, fence) {
      const content = staged(String(fence));
      await documents.put(id, fence, { title: '', mediaType: 'text/plain', content });
    },
    async begin(id, fence) {
      await runs.begin(id, fence, 'replica-1');
    },
    async publish(id, generation) {
      await runs.publish(id, generation, {
        pages: 1,
        chunks: 1,
        processedHash: '',
        embeddingModel: '',
      });
    },
    async delete(id, fence) {
      await documents.delete(id, fence);
    },
  };
}
