import type { Clock } from './clock.js';
import { type LastAnswer, Waiter, WaitersOfLock } from './waiter.js';

/** Who waits in this process: first come, first served, for each lock by itself. */
export class WaitQueue {
  isClosed = false;
  private readonly locks = new Map<string, WaitersOfLock>();

  constructor(
    private readonly clock: Clock,
    /** How many may have a lock at once: so many ask at once until an answer says otherwise. */
    private readonly permits: number,
  ) {}

  /** Number of waiters for a lock in this process. */
  length(name: string): number {
    return this.locks.get(name)?.count ?? 0;
  }

  /** What the waiters for a lock were told last; undefined where nobody waits. */
  lastAnswer(name: string): LastAnswer | undefined {
    return this.locks.get(name)?.lastAnswer;
  }

  enter(name: string): Waiter {
    const all = this.locks.get(name) ?? new WaitersOfLock(this.permits);
    this.locks.set(name, all);
    const waiter = new Waiter(this.clock, all, this.clock.now(), () => {
      if (all.count === 0) this.locks.delete(name);
    });
    all.add(waiter);
    return waiter;
  }

  /** A lock may be free: the first waiter looks again. `undefined`: the first of every lock. */
  wake(name: string | undefined): void {
    if (name !== undefined) return this.locks.get(name)?.first?.wake();
    for (const all of this.locks.values()) all.first?.wake();
  }

  /** Everybody looks up, first or not: the engine is closing. */
  close(): void {
    this.isClosed = true;
    for (const all of this.locks.values()) all.wakeAll();
  }
}
