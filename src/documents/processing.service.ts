import { Injectable, Logger } from '@nestjs/common';
import { Drain } from '../http/index.js';
import { currentLease, type Lease, LockService, lockName, WithLock } from '../lock/index.js';
import { type DocumentRecord } from './document-record.js';
import { DocumentNotFoundError } from './documents.errors.js';
import { DocumentsRepository } from './documents.repository.js';
import { type ProcessedView } from './dto/processed.view.js';
import { Pipeline, type RunOutcome } from './pipeline/run/pipeline.js';

/** Has documents processed, each by one worker at a time in all replicas. */
@Injectable()
export class ProcessingService {
  private readonly logger = new Logger(ProcessingService.name);

  constructor(
    private readonly documents: DocumentsRepository,
    private readonly pipeline: Pipeline,
    private readonly locks: LockService,
    private readonly drain: Drain,
  ) {}

  /**
   * Processes a document; the work goes on when the caller goes away.
   * @throws DocumentNotFoundError, LockBusyError, LockUnavailableError, and what `Pipeline.run` throws
   */
  async process(id: string): Promise<ProcessedView> {
    await this.mustExist(id);
    return toProcessedView(await this.drain.track(this.processLocked(id)));
  }

  /**
   * Takes the document's lock, with one try, and processes in the background under that lease.
   * Resolves once the lock is held and the document says `processing`.
   * @throws DocumentNotFoundError, LockBusyError, LockUnavailableError, DatabaseUnavailableError
   */
  async start(id: string): Promise<void> {
    await this.mustExist(id);
    const lease = await this.locks.acquire(lockName`doc:${id}`, { waitMs: 0 });
    try {
      const document = await this.pipeline.begin(id, lease);
      void this.drain.track(this.finish(document, lease));
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  @WithLock('doc:<id>')
  private async processLocked(id: string): Promise<RunOutcome> {
    const lease = currentLease();
    if (!lease) throw new Error('The work has no lease: @WithLock must be in effect.');
    return this.pipeline.run(await this.pipeline.begin(id, lease), lease);
  }

  private async finish(document: DocumentRecord, lease: Lease): Promise<void> {
    try {
      await this.pipeline.run(document, lease);
    } catch (error) {
      // Nobody waits for the outcome; the document's state tells it.
      this.logger.warn(
        `Processing document ${document.id} in the background failed: ${String(error)}`,
      );
    } finally {
      await lease.release();
    }
  }

  /** Looked up before the lock, so that ids that do not exist leave no trace in the lock store. */
  private async mustExist(id: string): Promise<void> {
    if (!(await this.documents.find(id))) throw new DocumentNotFoundError(id);
  }
}

function toProcessedView({ document, hasChanged }: RunOutcome): ProcessedView {
  const { id, pages, chunks, fence } = document;
  return { status: 'ok', id, pages, chunks, fence: String(fence), unchanged: !hasChanged };
}
