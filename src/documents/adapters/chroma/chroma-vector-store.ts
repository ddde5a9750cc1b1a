import { Logger } from '@nestjs/common';
import { StaleFenceError } from '../../../database/index.js';
import { type DocumentPointers } from '../../document-pointers.js';
import { EmbedderChangedError } from '../../ports/embedder-changed.error.js';
import { type Hit, type Passage, type VectorStore } from '../../ports/vector-store.js';
import { checkedDimensions } from '../checked-passages.js';
import { assertUnitLength } from '../embedding-bytes.js';
import { ChromaCollections } from './chroma-collections.js';
import { ChromaHttp } from './chroma-http.js';
import {
  generationsBelow,
  ofGeneration,
  type QueryAnswer,
  toHits,
  toRecords,
  type Where,
} from './chroma-records.js';

const WRITE_BATCH = 100;
const DEFAULT_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 2_000;

/** Where the server is, and how patient to be. */
export interface ChromaOptions {
  /** Such as `http://host:8000`. */
  readonly url: string;
  /** How long one call may take. @default 10000 */
  readonly timeoutMs?: number;
}

/**
 * Passages in a ChromaDB server (1.0 or newer), found through one index of all documents' passages:
 * the nearest by cosine, a few in a thousand of them missed where a document has thousands of passages.
 * A search filters while it walks the index, so its cost grows with all that is stored.
 *
 * ChromaDB cannot compare and set, so the fence is checked in the database: before each batch, and
 * once more after the last. A zombie's batch that is on its way in between does arrive, but only under
 * its own generation, which the guarded pointer will never name: nobody sees it, and the sweep
 * in the background, some time after the last change of the document, takes it along. One ChromaDB database belongs to one database of documents, which
 * decides what may be swept. Every method throws VectorsUnavailableError.
 */
export class ChromaVectorStore implements VectorStore {
  private readonly logger = new Logger(ChromaVectorStore.name);
  private readonly http: ChromaHttp;
  private readonly collections: ChromaCollections;
  private batchSize: number | undefined;

  constructor(
    private readonly pointers: DocumentPointers,
    { url, timeoutMs = DEFAULT_TIMEOUT_MS }: ChromaOptions,
  ) {
    this.http = new ChromaHttp(url, timeoutMs);
    this.collections = new ChromaCollections(this.http);
  }

  /** One call and one statement per 100 passages. @inheritdoc */
  async write(
    documentId: string,
    generation: bigint,
    passages: readonly Passage[],
    signal: AbortSignal,
  ): Promise<void> {
    const dimensions = checkedDimensions(passages);
    try {
      const size = await this.batchSizeOf(signal);
      for (let start = 0; start < passages.length; start += size) {
        await this.pointers.claim(documentId, generation);
        const body = toRecords(documentId, generation, passages.slice(start, start + size));
        await this.collections.inOwn(
          dimensions,
          (path) => this.post(`${path}/upsert`, body, signal),
          signal,
        );
      }
      await this.pointers.claim(documentId, generation);
    } catch (error) {
      if (error instanceof StaleFenceError) await this.tidyUp(documentId);
      throw error;
    }
    signal.throwIfAborted();
  }

  /** @inheritdoc */
  async search(
    documentId: string,
    generation: bigint,
    query: Float32Array,
    limit: number,
  ): Promise<Hit[]> {
    assertUnitLength(query, 'The query');
    const answer = await this.collections.inExisting(query.length, (path) =>
      this.post(`${path}/query`, {
        query_embeddings: [Array.from(query)],
        n_results: limit,
        where: ofGeneration(documentId, generation),
        include: ['documents', 'metadatas', 'distances'],
      }),
    );
    const hits = answer === null ? [] : toHits(answer as QueryAnswer);
    if (hits.length === 0) await this.refuseOtherModel(documentId, generation, query.length);
    return hits;
  }

  /**
   * Safe although it is not atomic with the pointer: generations below the last writer's fence that
   * are not published now never will be. Costs an id, of some fifty bytes, per passage that goes. @inheritdoc
   */
  async sweep(documentId: string, keep: bigint | null): Promise<number> {
    const pointer = await this.pointers.read(documentId);
    if (pointer === null) return 0;
    const leftBehind = pointer.deleted ? pointer.fence + 1n : pointer.fence;
    const end = keep === null || keep > leftBehind ? leftBehind : keep;
    const where = generationsBelow(documentId, end, pointer.generation);
    let found = 0;
    await this.collections.inAll(async (path) => {
      const ids = await this.idsWhere(path, where);
      if (ids.length === 0) return;
      await this.post(`${path}/delete`, { where });
      found += ids.length;
    });
    return found;
  }

  /** Costs an id, of some fifty bytes, per passage. @inheritdoc */
  async count(documentId: string, generation: bigint): Promise<number> {
    let passages = 0;
    await this.collections.inAll(async (path) => {
      passages += (await this.idsWhere(path, ofGeneration(documentId, generation))).length;
    });
    return passages;
  }

  /** Within two seconds. @inheritdoc */
  async ping(): Promise<void> {
    await this.http.call({ method: 'GET', path: 'heartbeat', timeoutMs: PING_TIMEOUT_MS });
  }

  private post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.http.call({ method: 'POST', path, body, signal });
  }

  /** No larger than the server takes, which does not change while it runs. */
  private async batchSizeOf(signal: AbortSignal): Promise<number> {
    if (this.batchSize === undefined) {
      const path = 'pre-flight-checks';
      const answer = await this.http.call({ method: 'GET', path, signal });
      const { max_batch_size: most } = answer as { max_batch_size?: number };
      this.batchSize = Math.min(WRITE_BATCH, most ?? WRITE_BATCH);
    }
    return this.batchSize;
  }

  private async idsWhere(path: string, where: Where, limit?: number) {
    const body = { where, limit, include: [] };
    return ((await this.post(`${path}/get`, body)) as { ids: readonly string[] }).ids;
  }

  /** Takes what a superseded run has written along at once; what stays is invisible all the same. */
  private async tidyUp(documentId: string): Promise<void> {
    try {
      await this.sweep(documentId, null);
    } catch (error) {
      this.logger.warn(`Old passages of document ${documentId} stay for now: ${String(error)}`);
    }
  }

  /** Nothing found may also mean that the passages are of another length, in another collection. */
  private async refuseOtherModel(
    documentId: string,
    generation: bigint,
    dimensions: number,
  ): Promise<void> {
    await this.collections.inAll(async (path, others) => {
      if (others === dimensions) return;
      const some = await this.idsWhere(path, ofGeneration(documentId, generation), 1);
      if (some.length === 0) return;
      const why = `${others} dimensions, and now ${dimensions}`;
      throw new EmbedderChangedError(documentId, why);
    });
  }
}
