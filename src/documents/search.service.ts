import { Inject, Injectable } from '@nestjs/common';
import { type SearchView } from './dto/search.view.js';
import { DocumentNotFoundError } from './documents.errors.js';
import { DocumentsRepository } from './documents.repository.js';
import { EMBEDDER, type Embedder } from './ports/embedder.js';
import { EmbedderChangedError } from './ports/embedder-changed.error.js';
import { VECTOR_STORE, type VectorStore } from './ports/vector-store.js';

// A document is published again during a search about never; twice in a row is a loop.
const attempts = 3;

/** Finds passages by meaning, in what is published only. */
@Injectable()
export class SearchService {
  constructor(
    private readonly documents: DocumentsRepository,
    @Inject(EMBEDDER) private readonly embedder: Embedder,
    @Inject(VECTOR_STORE) private readonly vectors: VectorStore,
  ) {}

  /**
   * Costs one embedding and a look at every passage of the document. `signal` ends the embedding,
   * and the wait for it.
   * @throws DocumentNotFoundError, EmbedderChangedError, and the embedder's and the store's trouble;
   * the signal's reason
   */
  async search(
    id: string,
    query: string,
    limit: number,
    signal?: AbortSignal,
  ): Promise<SearchView> {
    let generation = await this.published(id);
    if (generation === null) return { id, query, passages: [] };
    const call = { isUrgent: true, ...(signal && { signal }) };
    const [vector] = await this.embedder.embed([query], call);
    for (let attempt = 1; generation !== null && vector; attempt += 1) {
      const passages = await this.vectors.search(id, generation, vector, limit);
      const now = await this.published(id);
      // Nothing found may mean that a newer generation has replaced this one in the meantime.
      if (passages.length > 0 || now === generation || attempt === attempts) {
        return { id, query, passages };
      }
      generation = now;
    }
    return { id, query, passages: [] };
  }

  /** The generation that readers see. */
  private async published(id: string): Promise<bigint | null> {
    const document = await this.documents.find(id);
    if (!document) throw new DocumentNotFoundError(id);
    const { generation, embeddingModel } = document;
    const { model } = this.embedder;
    if (generation !== null && embeddingModel !== null && embeddingModel !== model) {
      throw new EmbedderChangedError(id, `${embeddingModel}, and now ${model}`);
    }
    return generation;
  }
}
