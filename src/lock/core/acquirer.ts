import type { Attempt } from './attempt.js';
import { type Clock, elapsedMs, type Instant, plusMs, remainingMs } from './clock.js';
import type { HoldStatistics } from './hold-statistics.js';
import { HeldLease } from './lease.js';
import { CLOSING, type LeaseDesk } from './lease-desk.js';
import type { LockEventBus } from './lock-events.js';
import { nameFamily } from './lock-name.js';
import type { LockOptions } from './lock-options.js';
import { type BusyReply, type GrantStore, type Place, SAFETY_MS, TURN_MS } from './lock-store.js';
import {
  LockBusyError,
  LockClosedError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from './lock.errors.js';
import type { Owner } from './owner-token.js';
import type { Tries, TryOutcome } from './tries.js';
import { type LastAnswer, type Waiter, WaitQueue } from './wait-queue.js';
import { DeadlineError, withDeadline } from './with-deadline.js';

/** So that processes whose waiters saw the same expiry do not all ask in the same millisecond. */
const JITTER_MS = 10;
const LEAST_PAUSE_MS = 2;
const FIRST_TROUBLE_PAUSE_MS = 50;
const LAST_TROUBLE_PAUSE_MS = 1_000;

/** A lease, or why there is none. */
export type Taken = HeldLease | LockBusyError | LockUnavailableError;

/** Takes locks: with one try, or in turn with the other waiters of this process. */
export class Acquirer {
  private readonly queue: WaitQueue;
  private stopListening: (() => void)[] = [];
  private readonly standby = new Set<string>();
  private closing = false;

  constructor(
    private readonly store: GrantStore,
    private readonly clock: Clock,
    private readonly events: LockEventBus,
    private readonly owner: Owner,
    private readonly desk: LeaseDesk,
    private readonly tries: Tries,
    private readonly statistics: HoldStatistics,
  ) {
    this.queue = new WaitQueue(clock);
  }

  /** @throws LockBusyError, LockWaitTimeoutError, LockUnavailableError, or the signal's reason */
  async take(name: string, options: LockOptions, signal?: AbortSignal): Promise<HeldLease> {
    const startedAt = this.begin(name, signal);
    try {
      const taken =
        options.waitMs === 0
          ? await this.takeAtOnce(name, options, signal)
          : await this.takeInTurn(name, options, signal);
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
    if (this.closing) throw closedError(name);
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
    const waiting = this.queue.lastAnswer(name);
    return waiting && !waiting.trouble ? this.busyError(name, waiting) : undefined;
  }

  /** Refuses everybody from now on, waiters included. */
  stop(): void {
    this.closing = true;
    this.queue.wakeEverybody();
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
        return this.busyError(name, this.heard(name, outcome.reply, options));
      case 'trouble':
        this.desk.undo(attempt);
        return outcome.error;
    }
  }

  private async takeInTurn(
    name: string,
    options: LockOptions,
    signal: AbortSignal | undefined,
  ): Promise<Taken> {
    const deadline = plusMs(this.clock.now(), options.waitMs);
    const left = () => remainingMs(deadline, this.clock.now());
    const waiter = this.queue.enter(name);
    let attempt = this.tries.newAttempt(name, options);
    let isGranted = false;
    let hasTried = false;
    let troubles = 0;
    try {
      for (;;) {
        let pauseMs = left();
        if (waiter.isHead) {
          // The first try gets its full time, however short the wait.
          const timeoutMs = Math.min(options.commandTimeoutMs, hasTried ? left() : Infinity);
          const place = { process: this.owner.process, ticket: waiter.ticket };
          hasTried = true;
          waiter.stand();
          const outcome = await this.tryAsHead(attempt, options, timeoutMs, signal, place);
          if (outcome.kind === 'granted') {
            waiter.served();
            isGranted = true;
            return outcome.lease;
          }
          if (outcome.kind === 'busy') {
            troubles = 0;
            waiter.ticket = outcome.reply.ticket;
            waiter.learn(this.heard(name, outcome.reply, options));
            pauseMs = Math.min(outcome.reply.remainingMs ?? SAFETY_MS, SAFETY_MS);
            pauseMs += LEAST_PAUSE_MS + this.clock.jitterMs(JITTER_MS);
          } else {
            troubles += 1;
            pauseMs = Math.min(FIRST_TROUBLE_PAUSE_MS * 2 ** (troubles - 1), LAST_TROUBLE_PAUSE_MS);
            if (!ranOutOfTime(outcome.error, options, timeoutMs)) {
              waiter.learn({ trouble: outcome.error });
            }
          }
          if (this.isSpent(attempt, outcome)) {
            this.desk.undo(attempt);
            attempt = this.tries.newAttempt(name, options);
          }
        }
        const { closedUntil } = waiter.lastAnswer;
        if (closedUntil && remainingMs(closedUntil, this.clock.now()) > left()) {
          return this.busyError(name, waiter.lastAnswer);
        }
        await waiter.pause(Math.max(0, Math.min(pauseMs, left())), signal);
        signal?.throwIfAborted();
        if (this.closing) return closedError(name);
        if (left() <= 0 && (hasTried || !waiter.isHead)) {
          return this.waitedInVain(name, waiter, options.waitMs);
        }
      }
    } finally {
      if (!isGranted) this.desk.undo(attempt);
      if (waiter.leavesPlace) this.giveUpPlace(name, options, attempt);
      waiter.leave();
    }
  }

  private tryAsHead(
    attempt: Attempt,
    options: LockOptions,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    place: Place,
  ): Promise<TryOutcome> {
    return this.tries.try(attempt, options, timeoutMs, signal, () => attempt.tryAcquire(place));
  }

  /** Whether the attempt has to be undone, and another token asked with. */
  private isSpent(attempt: Attempt, outcome: Exclude<TryOutcome, { kind: 'granted' }>): boolean {
    if (this.store.undoesTries) return true;
    // Busy although it was granted once: its own revoked lock may be in its way.
    return outcome.kind === 'busy' ? attempt.wasGrantedUnheard : outcome.spent;
  }

  /**
   * In the background; where it fails, the place dies by itself after PLACE_DEAD_MS. A try that was given up
   * may stand in line once more when the store comes to it.
   */
  private giveUpPlace(
    name: string,
    { commandTimeoutMs }: LockOptions,
    { underWay }: Attempt,
  ): void {
    const leave = () => {
      const left = (async () => this.store.leave(name, this.owner.process))();
      this.desk.inBackground(
        withDeadline(left, this.clock, commandTimeoutMs, { background: true }).catch(
          () => undefined,
        ),
      );
    };
    leave();
    void underWay?.then(() => {
      if (this.queue.length(name) === 0) leave();
    });
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
    }, TURN_MS + LEAST_PAUSE_MS);
  }

  private waitedInVain(
    name: string,
    waiter: Waiter,
    waitMs: number,
  ): LockBusyError | LockUnavailableError {
    const answer = waiter.lastAnswer;
    if (answer.trouble) return answer.trouble;
    const { remainingMs: remaining, retryAfterMs } = this.busyError(name, answer);
    return new LockWaitTimeoutError(name, remaining, retryAfterMs, waitMs);
  }

  private heard(
    name: string,
    { closedMs, ...reply }: BusyReply,
    { ttlMs }: LockOptions,
  ): LastAnswer {
    const { remainingMs: remaining } = reply;
    if (closedMs === undefined && (remaining === undefined || remaining > ttlMs)) {
      this.events.emit('overlong', { name, remainingMs: remaining, ttlMs });
    }
    if (closedMs === undefined) return reply;
    return { ...reply, closedUntil: plusMs(this.clock.now(), closedMs) };
  }

  /** What a caller is told who finds the lock busy. */
  busyError(name: string, answer: LastAnswer): LockBusyError {
    const ahead = Math.max(this.queue.length(name), answer.queued ?? 0);
    const { heldForMs, remainingMs: remaining, closedUntil } = answer;
    if (closedUntil) {
      const closedMs = Math.max(0, remainingMs(closedUntil, this.clock.now()));
      return new LockClosedError(name, closedMs);
    }
    const family = nameFamily(name);
    const retryAfterMs = this.statistics.retryAfterMs(family, heldForMs, remaining, ahead);
    return new LockBusyError(name, remaining, retryAfterMs);
  }
}

/** The waiter's own deadline cut the try short: that says nothing about the store. */
function ranOutOfTime(error: LockUnavailableError, options: LockOptions, timeoutMs: number) {
  return error.cause instanceof DeadlineError && timeoutMs < options.commandTimeoutMs;
}

function closedError(name: string): LockUnavailableError {
  return new LockUnavailableError(name, CLOSING, { mayHaveRun: false });
}
