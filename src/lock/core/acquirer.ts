import { Answers, closedError, type Taken } from './answers.js';
import { type Clock, elapsedMs, type Instant } from './clock.js';
import type { HoldStatistics } from './hold-statistics.js';
import { HeldLease } from './lease.js';
import type { LeaseDesk } from './lease-desk.js';
import type { LockEventBus } from './lock-events.js';
import type { LockOptions } from './lock-options.js';
import { type GrantStore, TURN_MS } from './lock-store.js';
import { LockBusyError, LockUnavailableError } from './lock.errors.js';
import type { Owner } from './owner-token.js';
import type { Tries } from './tries.js';
import { WaitQueue } from './wait-queue.js';
import { WaitingAcquirer } from './waiting-acquirer.js';

/** After the end of a reservation, so that it has passed on the store's clock too. */
const AFTER_TURN_MS = 2;

/** Takes locks: with one try, or in turn with the other waiters of this process. */
export class Acquirer {
  private readonly queue: WaitQueue;
  readonly answers: Answers;
  private readonly waiting: WaitingAcquirer;
  private stopListening: (() => void)[] = [];
  private readonly standby = new Set<string>();

  constructor(
    private readonly store: GrantStore,
    private readonly clock: Clock,
    private readonly events: LockEventBus,
    private readonly owner: Owner,
    private readonly desk: LeaseDesk,
    private readonly tries: Tries,
    statistics: HoldStatistics,
    /** How many may hold one name at once. */
    private readonly permits: number,
  ) {
    this.queue = new WaitQueue(clock, permits);
    this.answers = new Answers(clock, events, statistics, this.queue);
    this.waiting = new WaitingAcquirer(store, clock, owner, desk, tries, this.queue, this.answers);
  }

  /** @throws LockBusyError, LockWaitTimeoutError, LockUnavailableError, or the signal's reason */
  async take(name: string, options: LockOptions, signal?: AbortSignal): Promise<HeldLease> {
    const startedAt = this.begin(name, signal);
    try {
      const taken =
        options.waitMs === 0
          ? await this.takeAtOnce(name, options, signal)
          : await this.waiting.take(name, options, signal);
      this.tell(name, taken, startedAt);
      if (taken instanceof HeldLease) return taken;
      throw taken;
    } finally {
      this.desk.askEnds();
    }
  }

  /**
   * What comes before every acquisition, which ends with the desk's `askEnds`. When it began, where
   * anybody listens. @throws LockUnavailableError where the engine is closing, or the signal's reason
   */
  begin(name: string, signal: AbortSignal | undefined): Instant | undefined {
    signal?.throwIfAborted();
    if (this.queue.isClosed) throw closedError(name);
    this.listen();
    this.desk.askBegins();
    return this.events.isHeard('granted') ? this.clock.now() : undefined;
  }

  /** Tells those who listen what came of an acquisition. */
  tell(name: string, taken: Taken, startedAt: Instant | undefined): void {
    if (taken instanceof LockBusyError) this.events.emit('busy', { name });
    else if (taken instanceof LockUnavailableError) {
      this.events.emit('unavailable', { name, error: taken });
    } else if (startedAt) {
      const waitedMs = elapsedMs(startedAt, this.clock.now());
      this.events.emit('granted', { name, fence: taken.fence, waitedMs });
    }
  }

  /**
   * Why one try is not made: others of this process wait for the lock, and it belongs to the first of them,
   * free or not. Trouble of theirs is no reason: it may be over.
   */
  objection(name: string): LockBusyError | undefined {
    if (this.permits > 1) return undefined; // there may be enough for all: the store knows
    const waiting = this.queue.lastAnswer(name);
    return waiting && !waiting.trouble ? this.answers.busyError(name, waiting) : undefined;
  }

  /** Refuses everybody from now on, waiters included. */
  stop(): void {
    this.queue.close();
    for (const stop of this.stopListening.splice(0)) stop();
  }

  private async takeAtOnce(
    name: string,
    options: LockOptions,
    signal: AbortSignal | undefined,
  ): Promise<Taken> {
    const objection = this.objection(name);
    if (objection) return objection;
    const attempt = this.tries.newAttempt(name, options);
    const timeoutMs = options.commandTimeoutMs;
    const outcome = await this.tries.try(attempt, options, timeoutMs, signal, () =>
      attempt.tryAcquire(),
    );
    switch (outcome.kind) {
      case 'granted':
        return outcome.lease;
      case 'busy':
        return this.answers.busyError(name, this.answers.heard(name, outcome.reply, options));
      case 'trouble':
        this.desk.undo(attempt);
        return outcome.error;
    }
  }

  /** From the first lock on: the store's messages wake the heads of the lines, and tell of revocations. */
  private listen(): void {
    if (this.stopListening.length > 0) return;
    this.stopListening = [
      this.store.onWake(this.owner.process, (name, role, token) => {
        if (role === 'turn' || name === undefined) this.queue.wake(name);
        else if (role === 'standby') this.lookAfterTurn(name);
        else this.desk.revoked(name, token);
      }),
      this.store.onReconnect(() => this.queue.wake(undefined)),
    ];
  }

  /** The process before ours has the turn; should it miss it, the turn is ours. */
  private lookAfterTurn(name: string): void {
    if (this.standby.has(name)) return;
    this.standby.add(name);
    this.clock.setTimer(() => {
      this.standby.delete(name);
      this.queue.wake(name);
    }, TURN_MS + AFTER_TURN_MS);
  }
}
