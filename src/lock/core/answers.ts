import { type Clock, plusMs, remainingMs } from './clock.js';
import type { HoldStatistics } from './hold-statistics.js';
import type { HeldLease } from './lease.js';
import { CLOSING } from './lease-desk.js';
import type { LockEventBus } from './lock-events.js';
import { nameFamily } from './lock-name.js';
import type { LockOptions } from './lock-options.js';
import type { BusyReply } from './lock-store.js';
import { LockBusyError, LockClosedError, LockUnavailableError } from './lock.errors.js';
import type { WaitQueue } from './wait-queue.js';
import type { LastAnswer } from './waiter.js';

/** A lease, or why there is none. */
export type Taken = HeldLease | LockBusyError | LockUnavailableError;

/** What a busy answer of the store means, and what a caller is told of it. */
export class Answers {
  constructor(
    private readonly clock: Clock,
    private readonly events: LockEventBus,
    private readonly statistics: HoldStatistics,
    private readonly queue: WaitQueue,
  ) {}

  /** Tells whoever listens of a life that is longer than it could be. */
  heard(name: string, { closedMs, ...reply }: BusyReply, { ttlMs }: LockOptions): LastAnswer {
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

export function closedError(name: string): LockUnavailableError {
  return new LockUnavailableError(name, CLOSING, { mayHaveRun: false });
}
