import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { StaleFenceError } from '../database/index.js';
import { Drain } from '../http/index.js';
import {
  type Lease,
  LockBusyError,
  LockLostError,
  LockService,
  LockUnavailableError,
  lockName,
} from '../lock/index.js';
import { type ClaimedDocument, DocumentQueue } from './document-queue.js';
import { DocumentNotFoundError } from './documents.errors.js';
import { DocumentsRepository } from './documents.repository.js';
import { Pipeline, type RunOutcome } from './pipeline/run/pipeline.js';
import { ProcessingSlots } from './processing-slots.js';
import { LeavingError, QueueWaitTimeoutError } from './queue.errors.js';
import { ResultWaiters } from './result-waiters.js';

const POLL_MS = 1_000;
/** How often a document is begun whose worker dies or loses the lock each time. */
const MAX_ATTEMPTS = 3;
/** How long after a try that found the lock busy, or its store away, the next one may come. */
const MAX_PAUSE_MS = 1_000;
/** How long the shutdown waits for what was aborted to be given back. */
const GIVE_BACK_MS = 3_000;

/**
 * Works on the queue: takes the first document whenever a slot of this process is free, under the
 * document's lock. Looks when something was put into the queue here, when a slot becomes free, and once
 * a second for what others have put there or left behind.
 */
@Injectable()
export class ProcessingQueue implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ProcessingQueue.name);
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly waiters = new ResultWaiters<RunOutcome>();
  private readonly stopped = new AbortController();
  private filling = false;
  /** Whether others may wait for a slot. */
  private isCrowded = true;
  private isBlind = false;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly documents: DocumentsRepository,
    private readonly queue: DocumentQueue,
    private readonly slots: ProcessingSlots,
    private readonly pipeline: Pipeline,
    private readonly locks: LockService,
    private readonly drain: Drain,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    // Locks of one process only: nobody else can be at work on what an earlier one has left behind.
    if (this.config.lock.store === 'memory') {
      await this.queue.freeAll().catch((error: unknown) => {
        this.logger.warn(
          `What an earlier process had begun waits until its claims run out: ${String(error)}`,
        );
      });
    }
    this.drain.signal.addEventListener('abort', () => void this.drain.track(this.stop()), {
      once: true,
    });
    void this.every(POLL_MS, () => this.fill());
    void this.every(this.queue.claimMs / 3, () => this.renew());
  }

  /** What is under way was aborted by now; it is given back while the database is still there. */
  async onApplicationShutdown(): Promise<void> {
    const late = delay(GIVE_BACK_MS, undefined, { ref: false });
    await Promise.race([Promise.all(this.underWay.values()), late]);
  }

  /** A slot for work that does not come from the queue; null while none is free, or others wait for one. */
  takeSlot(): (() => void) | null {
    const leave = this.isCrowded || this.stopped.signal.aborted ? null : this.slots.take();
    return (
      leave &&
      (() => {
        leave();
        void this.fill();
      })
    );
  }

  /** Looks for work now: something was put into the queue. */
  wake(): void {
    this.isCrowded = true;
    void this.fill();
  }

  /**
   * What comes of a document for which this process stands in line. When `waitSignal` aborts before the work
   * has begun, the document leaves the queue.
   * @throws the signal's reason, QueueWaitTimeoutError, DocumentNotFoundError, LeavingError, LockBusyError, LockUnavailableError, and what
   * `Pipeline.run` throws
   */
  async outcome(id: string, waitSignal?: AbortSignal): Promise<RunOutcome> {
    if (this.stopped.signal.aborted) throw new LeavingError();
    const { queueWaitMs } = this.config.documents;
    const outcome = this.waiters.add(id);
    const timer = setTimeout(() => {
      void this.giveUp(id, () => this.waitedFor(id, queueWaitMs));
    }, queueWaitMs);
    const leave = () => void this.giveUp(id, async () => waitSignal?.reason as Error);
    waitSignal?.addEventListener('abort', leave, { once: true });
    if (waitSignal?.aborted) leave();
    this.wake();
    return outcome.finally(() => {
      clearTimeout(timer);
      waitSignal?.removeEventListener('abort', leave);
    });
  }

  /** In how many seconds a slot is likely to be free for one that has so many others before it. */
  async secondsUntil(ahead: number): Promise<number> {
    const { underWay } = await this.queue.load();
    const workers = Math.max(underWay, this.config.documents.concurrency);
    return Math.max(1, Math.ceil(((ahead + 1) * this.slots.meanMs) / workers / 1_000));
  }

  private async giveUp(id: string, why: () => Promise<Error>): Promise<void> {
    if (this.underWay.has(id)) return; // its outcome is on the way
    try {
      await this.queue.withdraw(id);
      if (this.underWay.has(id)) return;
      this.waiters.reject(id, await why());
    } catch (error) {
      this.waiters.reject(id, error);
    }
  }

  private async waitedFor(id: string, waitedMs: number): Promise<Error> {
    if (!(await this.documents.find(id))) return new DocumentNotFoundError(id);
    const { waiting } = await this.queue.load();
    return new QueueWaitTimeoutError(waitedMs, await this.secondsUntil(waiting));
  }

  private async every(ms: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      await work();
      // Spread out, so that replicas which were started together do not ask together.
      const pauseMs = ms * (0.75 + Math.random() / 2);
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async fill(): Promise<void> {
    if (this.filling) return;
    this.filling = true;
    try {
      let leave: (() => void) | null;
      while (!this.drain.signal.aborted && (leave = this.slots.take()) !== null) {
        const claimed = await this.claim().catch((error: unknown) => {
          leave?.();
          throw error;
        });
        if (claimed) this.begin(claimed, leave);
        else leave();
        if (!claimed && !this.isCrowded) break;
      }
      this.isBlind = false;
    } catch (error) {
      this.logger[this.isBlind ? 'debug' : 'warn'](`The queue cannot be read: ${String(error)}`);
      this.isBlind = true;
    } finally {
      this.filling = false;
    }
  }

  private async claim(): Promise<ClaimedDocument | null> {
    this.isCrowded = false;
    const claimed = await this.queue.claim();
    if (claimed) this.isCrowded = true;
    return claimed;
  }

  private begin(claimed: ClaimedDocument, leave: () => void): void {
    const run = this.work(claimed).finally(() => {
      this.underWay.delete(claimed.id);
      leave();
      void this.fill();
    });
    this.underWay.set(claimed.id, run);
    void this.drain.track(run);
  }

  private async renew(): Promise<void> {
    try {
      await this.queue.renew([...new Set([...this.underWay.keys(), ...this.waiters.names])]);
    } catch (error) {
      this.logger.debug(`Claims were not renewed: ${String(error)}`);
    }
  }

  /** Never rejects: the document's state tells what came of it, and its waiter, if it has one. */
  private async work({ id, attempts }: ClaimedDocument): Promise<void> {
    let isBegun = false;
    try {
      const outcome = await this.locks.run(lockName`doc:${id}`, { waitMs: 0 }, (lease) => {
        isBegun = true;
        return this.slots.measure(() => this.process(id, lease, attempts));
      });
      this.waiters.resolve(id, outcome);
    } catch (error) {
      if (!this.waiters.reject(id, error)) {
        this.logger.warn(`Processing document ${id} in the background failed: ${String(error)}`);
      }
      await this.settle(id, isBegun, error).catch((second: unknown) => {
        this.logger.warn(`Document ${id} stays in the queue for now: ${String(second)}`);
      });
    }
  }

  private async process(id: string, lease: Lease, attempts: number): Promise<RunOutcome> {
    const document = await this.pipeline.begin(id, lease);
    return attempts > MAX_ATTEMPTS
      ? this.pipeline.abandon(document, lease, MAX_ATTEMPTS)
      : this.pipeline.run(document, lease);
  }

  /** What a run has not ended goes back to its place, unless another one would end in the same way. */
  private async settle(id: string, isBegun: boolean, error: unknown): Promise<void> {
    if (!isBegun) {
      const { retryAfterMs = MAX_PAUSE_MS, remainingMs = MAX_PAUSE_MS } =
        error instanceof LockBusyError ? error : {};
      const afterMs = Math.ceil(Math.min(retryAfterMs, remainingMs, MAX_PAUSE_MS));
      await this.queue.giveBack(id, { afterMs, isAttempt: false });
      // Others would find the store away as well.
      if (error instanceof LockUnavailableError) {
        const { signal } = this.stopped;
        await delay(afterMs, undefined, { signal }).catch(() => undefined);
      }
    } else if (isPassing(error)) {
      const isAttempt = !(error instanceof LockLostError && error.reason === 'SHUTDOWN');
      await this.queue.giveBack(id, { afterMs: 0, isAttempt });
    } else {
      await this.queue.remove(id);
    }
  }

  private async stop(): Promise<void> {
    this.stopped.abort();
    this.waiters.rejectAll(new LeavingError(), (id) => !this.underWay.has(id));
    await this.queue.withdrawAll().catch((error: unknown) => {
      this.logger.debug(`Callers' places stay until they run out: ${String(error)}`);
    });
  }
}

/** Whether the next run may do better: this one was ended from without, and not for taking too long. */
function isPassing(error: unknown): boolean {
  if (error instanceof StaleFenceError) return true;
  const passing = ['EXPIRED', 'NOT_OWNER', 'SHUTDOWN'];
  return error instanceof LockLostError && passing.includes(error.reason);
}
