import { type Answers, closedError, type Taken } from './answers.js';
import type { Attempt } from './attempt.js';
import { type Clock, plusMs, remainingMs } from './clock.js';
import type { LeaseDesk } from './lease-desk.js';
import type { LockOptions } from './lock-options.js';
import { type BusyReply, type GrantStore, SAFETY_MS } from './lock-store.js';
import {
  type LockBusyError,
  type LockUnavailableError,
  LockWaitTimeoutError,
} from './lock.errors.js';
import type { Owner } from './owner-token.js';
import type { Tries, TryOutcome } from './tries.js';
import type { WaitQueue } from './wait-queue.js';
import type { Waiter } from './waiter.js';
import { DeadlineError, withDeadline } from './with-deadline.js';

/** So that processes whose waiters saw the same expiry do not all ask in the same millisecond. */
const JITTER_MS = 10;
/** Of a long pause: so that a crowd that came together does not go on looking together. */
const JITTER_PART = 0.1;
const LEAST_PAUSE_MS = 2;
const FIRST_TROUBLE_PAUSE_MS = 50;
const LAST_TROUBLE_PAUSE_MS = 1_000;

/** Takes locks in turn with the other waiters of this process and of all others. */
export class WaitingAcquirer {
  constructor(
    private readonly store: GrantStore,
    private readonly clock: Clock,
    private readonly owner: Owner,
    private readonly desk: LeaseDesk,
    private readonly tries: Tries,
    private readonly queue: WaitQueue,
    private readonly answers: Answers,
  ) {}

  /** Waits up to `waitMs`. @throws the signal's reason */
  async take(name: string, options: LockOptions, signal: AbortSignal | undefined): Promise<Taken> {
    const deadline = plusMs(this.clock.now(), options.waitMs);
    const left = () => remainingMs(deadline, this.clock.now());
    const waiter = this.queue.enter(name);
    let attempt = this.tries.newAttempt(name, options);
    let isGranted = false;
    let hasTried = false;
    let failures = 0;
    try {
      for (;;) {
        let pauseMs = waiter.takeRest();
        if (pauseMs === undefined && waiter.mayAsk) {
          // The first try gets its full time, however short the wait.
          const timeoutMs = Math.min(options.commandTimeoutMs, hasTried ? left() : Infinity);
          hasTried = true;
          const outcome = await this.try(waiter, attempt, options, timeoutMs, signal);
          if (outcome.kind === 'granted') {
            isGranted = true;
            return outcome.lease;
          }
          if (outcome.kind === 'busy') {
            failures = 0;
            if (waiter.isFirst) pauseMs = this.untilNextLook(outcome.reply);
          } else {
            failures += 1;
            pauseMs = Math.min(FIRST_TROUBLE_PAUSE_MS * 2 ** (failures - 1), LAST_TROUBLE_PAUSE_MS);
          }
          if (this.isSpent(attempt, outcome)) {
            this.desk.undo(attempt);
            attempt = this.tries.newAttempt(name, options);
          }
        }
        const { closedUntil } = waiter.lastAnswer;
        if (closedUntil && remainingMs(closedUntil, this.clock.now()) > left()) {
          return this.answers.busyError(name, waiter.lastAnswer);
        }
        await waiter.pause(Math.max(0, Math.min(pauseMs ?? Infinity, left())), signal);
        signal?.throwIfAborted();
        if (this.queue.isClosed) return closedError(name);
        if (left() <= 0 && (hasTried || !waiter.isFirst)) {
          return this.waitedInVain(name, waiter, options.waitMs);
        }
      }
    } finally {
      if (!isGranted) this.desk.undo(attempt);
      if (waiter.leavesPlace) this.giveUpPlace(name, options, attempt);
      waiter.leave();
    }
  }

  /** One try, of which the waiters of this process learn what there is to learn. */
  private async try(
    waiter: Waiter,
    attempt: Attempt,
    options: LockOptions,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<TryOutcome> {
    const place = waiter.beginTry(this.owner.process);
    const sentAt = this.clock.now();
    const outcome = await this.tries.try(attempt, options, timeoutMs, signal, () =>
      attempt.tryAcquire(place),
    );
    waiter.endTry();
    switch (outcome.kind) {
      case 'granted':
        waiter.granted(outcome.reply, options.ttlMs);
        break;
      case 'busy': {
        const answer = this.answers.heard(attempt.terms.name, outcome.reply, options);
        waiter.busy(outcome.reply, sentAt, answer);
        break;
      }
      case 'trouble':
        waiter.unanswered(
          ranOutOfTime(outcome.error, options, timeoutMs) ? undefined : outcome.error,
        );
    }
    return outcome;
  }

  /** When to look again without being woken. */
  private untilNextLook({ lookMs, remainingMs: remaining = SAFETY_MS }: BusyReply): number {
    if (lookMs !== undefined) return lookMs + this.clock.jitterMs(lookMs * JITTER_PART);
    return Math.min(remaining, SAFETY_MS) + LEAST_PAUSE_MS + this.clock.jitterMs(JITTER_MS);
  }

  /** Whether the attempt has to be undone, and another token asked with. */
  private isSpent(attempt: Attempt, outcome: Exclude<TryOutcome, { kind: 'granted' }>): boolean {
    if (this.store.undoesTries) return true;
    // Busy although it was granted once: its own revoked lock may be in its way.
    return outcome.kind === 'busy' ? attempt.wasGrantedUnheard : outcome.spent;
  }

  /**
   * In the background; where it fails, the place dies by itself when its process has missed its looks. A try
   * that was given up may stand in the queue once more when the store comes to it.
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

  private waitedInVain(
    name: string,
    waiter: Waiter,
    waitMs: number,
  ): LockBusyError | LockUnavailableError {
    const answer = waiter.lastAnswer;
    if (answer.trouble) return answer.trouble;
    const { remainingMs: remaining, retryAfterMs } = this.answers.busyError(name, answer);
    return new LockWaitTimeoutError(name, remaining, retryAfterMs, waitMs);
  }
}

/** The waiter's own deadline cut the try short: that says nothing about the store. */
function ranOutOfTime(error: LockUnavailableError, options: LockOptions, timeoutMs: number) {
  return error.cause instanceof DeadlineError && timeoutMs < options.commandTimeoutMs;
}
