import { Injectable } from '@nestjs/common';
import { type Transaction } from 'kysely';
import { type Schema } from '../database/index.js';
import { Drain } from '../http/index.js';
import { currentLease, LockService, lockName, WithLock } from '../lock/index.js';
import { DocumentQueue, type QueuePlace } from './document-queue.js';
import { DocumentNotFoundError } from './documents.errors.js';
import { DocumentsRepository } from './documents.repository.js';
import { type ProcessedView } from './dto/processed.view.js';
import { Pipeline, type RunOutcome } from './pipeline/run/pipeline.js';
import { ProcessingQueue } from './processing-queue.js';
import { ProcessingSlots } from './processing-slots.js';
import { DocumentQueuedError } from './queue.errors.js';

/** Has documents processed, each by one worker at a time in all replicas. */
@Injectable()
export class ProcessingService {
  constructor(
    private readonly documents: DocumentsRepository,
    private readonly pipeline: Pipeline,
    private readonly queue: DocumentQueue,
    private readonly slots: ProcessingSlots,
    private readonly processing: ProcessingQueue,
    private readonly locks: LockService,
    private readonly drain: Drain,
  ) {}

  /**
   * Processes a document: at once where a slot is free, else in its turn, without a lock until then. The work goes
   * on when the caller goes away; a wait for it ends when `waitSignal` aborts.
   * @throws DocumentNotFoundError, DocumentQueuedError, QueueFullError, QueueWaitTimeoutError, LockBusyError,
   * LockUnavailableError, and what `Pipeline.run` throws
   */
  async process(id: string, waitSignal?: AbortSignal): Promise<ProcessedView> {
    await this.mustExist(id);
    const place = await this.queue.place(id);
    if (place?.isWaiting) throw await this.alreadyQueued(place);
    return toProcessedView(await this.drain.track(this.inTurn(id, place, waitSignal)));
  }

  /**
   * Has a document processed by whichever replica is free; what `within` writes with its transaction is part of
   * that. One that waits already keeps its place.
   * @throws DocumentNotFoundError, LockBusyError while somebody works on it, LockUnavailableError, QueueFullError
   */
  async accept(
    id: string,
    within: (transaction: Transaction<Schema>) => Promise<void>,
  ): Promise<void> {
    await this.mustExist(id);
    const place = await this.queue.place(id);
    if (place?.isWaiting) await this.queue.accept(id, within);
    // Under the lock, nobody can be at work on what has been replaced since.
    else
      await this.locks.run(lockName`doc:${id}`, { waitMs: 0 }, () => this.queue.accept(id, within));
    this.processing.wake();
  }

  private async inTurn(
    id: string,
    place: QueuePlace | null,
    waitSignal?: AbortSignal,
  ): Promise<RunOutcome> {
    const outcome = await this.processLocked(id, place, waitSignal);
    return outcome ?? this.processing.outcome(id, waitSignal);
  }

  /** The outcome; null where no slot was free, and the document is in the queue now. */
  @WithLock('doc:<id>', { signal: (_id: string, _place: unknown, wait?: AbortSignal) => wait })
  private async processLocked(
    id: string,
    place: QueuePlace | null,
    _waitSignal?: AbortSignal,
  ): Promise<RunOutcome | null> {
    const lease = currentLease();
    if (!lease) throw new Error('The work has no lease: @WithLock must be in effect.');
    if (place) throw await this.alreadyQueued(place); // whoever has taken it is about to begin
    const leave = this.processing.takeSlot();
    if (leave === null) return this.standInLine(id);
    try {
      const document = await this.pipeline.begin(id, lease);
      return await this.slots.measure(() => this.pipeline.run(document, lease));
    } finally {
      leave();
    }
  }

  private async standInLine(id: string): Promise<null> {
    if (await this.queue.wait(id)) return null;
    throw await this.alreadyQueued(await this.queue.place(id));
  }

  private async alreadyQueued(place: QueuePlace | null): Promise<DocumentQueuedError> {
    const ahead = place?.ahead ?? 0;
    return new DocumentQueuedError(ahead, await this.processing.secondsUntil(ahead));
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
