import { Attempt } from './attempt.js';
import type { Clock } from './clock.js';
import { InFlightLimit, MAX_IN_FLIGHT } from './in-flight-limit.js';
import type { HeldLease } from './lease.js';
import { CLOSING, type LeaseDesk } from './lease-desk.js';
import type { LockOptions } from './lock-options.js';
import type { AcquireReply, BusyReply, GrantReply, GrantStore } from './lock-store.js';
import { LockUnavailableError } from './lock.errors.js';
import { type Owner, tokensOf } from './owner-token.js';
import { DeadlineError } from './with-deadline.js';

/** The part of its time that a try may pass before it is sent: the rest is the store's to answer in. */
const MAX_QUEUE_PART = 3 / 4;

/** How one try ended. `spent`: it has to be undone, its token must not be used again. */
export type TryOutcome =
  | { readonly kind: 'granted'; readonly lease: HeldLease; readonly reply: GrantReply }
  | { readonly kind: 'busy'; readonly reply: BusyReply }
  | {
      readonly kind: 'trouble';
      readonly error: LockUnavailableError;
      readonly spent: boolean;
    };

/** Makes attempts and turns their replies into leases. */
export class Tries {
  private readonly newToken: () => string;
  private readonly inFlight: InFlightLimit;

  constructor(
    private readonly store: GrantStore,
    private readonly clock: Clock,
    private readonly owner: Owner,
    private readonly desk: LeaseDesk,
  ) {
    this.newToken = tokensOf(owner);
    this.inFlight = new InFlightLimit(clock, MAX_IN_FLIGHT);
  }

  /** An attempt with a fresh token. */
  newAttempt(name: string, { ttlMs, commandTimeoutMs }: LockOptions): Attempt {
    const { process } = this.owner;
    const terms = { name, token: this.newToken(), ttlMs, commandTimeoutMs, process };
    return new Attempt(terms, this.store, this.clock);
  }

  /**
   * One try, its outcome as a value, within `timeoutMs`; some of that may pass before it is sent.
   * @throws only the signal's reason, the attempt undone
   */
  async try(
    attempt: Attempt,
    options: LockOptions,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: () => Promise<AcquireReply>,
  ): Promise<TryOutcome> {
    try {
      return await this.whenRoom(attempt.terms.name, timeoutMs, signal, (leftMs) =>
        this.tryNow(attempt, options, leftMs, signal, send),
      );
    } catch (error) {
      if (error instanceof LockUnavailableError) return { kind: 'trouble', error, spent: false };
      throw error;
    }
  }

  /**
   * Does what sends one command as soon as fewer than MAX_IN_FLIGHT are under way, and tells it what is
   * left of its time.
   * @throws LockUnavailableError where it was not begun in time, the signal's reason, or what `send` throws
   */
  async whenRoom<T>(
    name: string,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (leftMs: number) => Promise<T>,
  ): Promise<T> {
    const room = this.inFlight.enter(timeoutMs * MAX_QUEUE_PART, signal);
    let leftMs = timeoutMs;
    if (room) {
      const { monoMs } = this.clock.now();
      await room.catch((cause: Error) => {
        if (signal?.aborted) throw signal.reason;
        const why =
          cause instanceof DeadlineError ? crowded(timeoutMs * MAX_QUEUE_PART) : cause.message;
        throw new LockUnavailableError(name, why, { cause, mayHaveRun: false });
      });
      leftMs = Math.max(
        leftMs - (this.clock.now().monoMs - monoMs),
        timeoutMs - timeoutMs * MAX_QUEUE_PART,
      );
    }
    try {
      return await send(leftMs);
    } finally {
      this.inFlight.leave();
    }
  }

  /** Refuses those that have not been sent. */
  stop(): void {
    this.inFlight.refuseQueued(new Error(CLOSING));
  }

  /** As `try`, beside others that share its command. */
  async tryNow(
    attempt: Attempt,
    options: LockOptions,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: () => Promise<AcquireReply>,
  ): Promise<TryOutcome> {
    try {
      const { reply, sentAt } = await attempt.send(timeoutMs, signal, send);
      if (reply.status === 'busy') return { kind: 'busy', reply };
      const admitted = this.desk.admit(attempt, reply, sentAt, options);
      if ('lease' in admitted) return { kind: 'granted', lease: admitted.lease, reply };
      const error = new LockUnavailableError(attempt.terms.name, admitted.refused);
      return { kind: 'trouble', error, spent: true };
    } catch (error) {
      if (error instanceof LockUnavailableError) return { kind: 'trouble', error, spent: false };
      this.desk.undo(attempt);
      throw error;
    }
  }
}

function crowded(timeoutMs: number): string {
  return `${MAX_IN_FLIGHT} acquisitions of this process were ahead of it for ${Math.round(timeoutMs)} ms; ask for fewer at once, or wait for the lock (waitMs)`;
}
