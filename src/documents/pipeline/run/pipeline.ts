import { Inject, Injectable, Logger } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../../config/index.js';
import { type Lease, LockLostError } from '../../../lock/index.js';
import { type DocumentRecord, type Stage } from '../../document-record.js';
import { DocumentRunsRepository } from '../../document-runs.repository.js';
import { DocumentNotFoundError } from '../../documents.errors.js';
import { DocumentsRepository } from '../../documents.repository.js';
import { EMBEDDER, type Embedder } from '../../ports/embedder.js';
import { VECTOR_STORE, type VectorStore } from '../../ports/vector-store.js';
import { chunkPages } from '../chunk/index.js';
import { type Extraction, Extractor } from '../extract/index.js';
import { contentHash } from './content-hash.js';
import { failureOf, overlong, RunsAbandonedError } from './failure.js';
import { pause } from './pause.js';
import { ProgressReporter } from './progress-reporter.js';
import { Sweeper } from './sweeper.js';

/** What a run made of a document. */
export interface RunOutcome {
  readonly document: DocumentRecord;
  /** False where the text had been processed before, with the same settings. */
  readonly hasChanged: boolean;
}

/**
 * Makes a document searchable: extract, chunk, embed, store, publish. Everything it writes carries
 * the lease's fence, and nothing is visible before the last step; so a run may die at any point, and
 * the next one starts over.
 */
@Injectable()
export class Pipeline {
  private readonly logger = new Logger(Pipeline.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly documents: DocumentsRepository,
    private readonly runs: DocumentRunsRepository,
    private readonly extractor: Extractor,
    @Inject(EMBEDDER) private readonly embedder: Embedder,
    @Inject(VECTOR_STORE) private readonly vectors: VectorStore,
    private readonly sweeper: Sweeper,
  ) {}

  /**
   * Marks a document as being processed under a lease of its lock; `run` comes next.
   * @throws DocumentNotFoundError, LockLostError, StaleFenceError, DatabaseUnavailableError
   */
  async begin(id: string, lease: Lease): Promise<DocumentRecord> {
    lease.assertHeld();
    const document = await this.runs.begin(id, lease.fence, this.config.instanceId);
    if (!document) throw new DocumentNotFoundError(id);
    return document;
  }

  /**
   * Processes a document that has been begun under the same lease.
   * @throws UnreadableDocumentError; LockLostError or StaleFenceError when the lease ends under it;
   * trouble with the database or the model as it comes
   */
  async run(document: DocumentRecord, lease: Lease): Promise<RunOutcome> {
    try {
      return await this.stages(document, lease);
    } catch (error) {
      await this.noteFailure(document.id, lease, error);
      throw error;
    }
  }

  /**
   * Ends a document's run before it begins: so many before it have died or lost the lock.
   * @throws RunsAbandonedError, or what keeps the failure from being noted
   */
  async abandon({ id }: DocumentRecord, lease: Lease, attempts: number): Promise<never> {
    const error = new RunsAbandonedError(attempts);
    await this.runs.fail(id, lease.fence, { code: error.code, message: error.message });
    throw error;
  }

  private async stages(document: DocumentRecord, lease: Lease): Promise<RunOutcome> {
    const { id, mediaType } = document;
    const { signal, fence } = lease;
    const { chunkSize, chunkOverlap, stepDelayMs } = this.config.documents;
    const progress = new ProgressReporter((state) => this.runs.progress(id, fence, state));
    const call = { signal, onProgress: progress.report };
    const enter = async (stage: Stage) => {
      await progress.enter(stage);
      await pause(stepDelayMs, signal);
      lease.assertHeld();
    };

    await enter('extract');
    const { pages } = await this.extract(document, call);
    const { model } = this.embedder;
    const processedHash = contentHash(pages, { mediaType, chunkSize, chunkOverlap, model });
    if (document.processedHash === processedHash && (await this.isStored(document))) {
      await progress.settle();
      lease.assertHeld();
      return { document: await this.runs.keep(id, fence, model), hasChanged: false };
    }

    await enter('chunk');
    const options = { size: chunkSize, overlap: chunkOverlap, mediaType };
    const chunks = await chunkPages(pages, options, call);

    await enter('embed');
    const texts = chunks.map(({ text }) => text);
    const embeddings = await this.embedder.embed(texts, call);

    await enter('store');
    const passages = chunks.map((chunk, index) => ({ ...chunk, embedding: embeddings[index]! }));
    await this.vectors.write(id, fence, passages, signal);

    await enter('publish');
    const made = {
      pages: pages.length,
      chunks: chunks.length,
      processedHash,
      embeddingModel: model,
    };
    const published = await this.runs.publish(id, fence, made);
    await this.sweeper.sweep(id, fence);
    return { document: published, hasChanged: true };
  }

  /** False also where the vector store was exchanged, or has lost passages: then a run repairs it. */
  private async isStored({ id, generation, chunks }: DocumentRecord): Promise<boolean> {
    return generation !== null && (await this.vectors.count(id, generation)) === chunks;
  }

  private async extract(
    { id }: DocumentRecord,
    call: { signal: AbortSignal; onProgress: (done: number, total: number) => void },
  ): Promise<Extraction> {
    const content = await this.documents.content(id);
    if (!content) throw new DocumentNotFoundError(id);
    return this.extractor.extract(content.pieces, content.mediaType, call);
  }

  /**
   * Only who still holds the lock may say how it ended; otherwise the row shows `interrupted`. A run that
   * took too long has let go of it, and the fence alone says whether a newer one has begun.
   */
  private async noteFailure(id: string, lease: Lease, error: unknown): Promise<void> {
    const isOverlong = error instanceof LockLostError && error.reason === 'MAX_HOLD';
    const failure = isOverlong ? overlong(this.config.lock.maxHoldMs) : failureOf(error);
    if (failure === null) return;
    try {
      if (!isOverlong) lease.assertHeld();
      await this.runs.fail(id, lease.fence, failure);
    } catch (secondError) {
      this.logger.warn(`Document ${id} does not show its failure: ${String(secondError)}`);
    }
  }
}
