import type { CancelTimer, Clock, Instant } from './clock.js';
import type { LockUnavailableError } from './lock.errors.js';

/** What the store last said of a lock that others wait for. */
export interface LastAnswer {
  readonly remainingMs?: number | undefined;
  readonly heldForMs?: number | undefined;
  readonly queued?: number | undefined;
  /** Until then nothing is granted to anybody. */
  readonly closedUntil?: Instant | undefined;
  readonly trouble?: LockUnavailableError | undefined;
}

interface Line {
  readonly waiters: Waiter[];
  lastAnswer: LastAnswer;
  /** The process's ticket in the store's queue, while it stands there. */
  ticket: string | undefined;
  /** A try was sent since the last grant: the process may stand in the store's queue, ticket or not. */
  mayStand: boolean;
}

/** A place in the line for one lock. Only the head asks the store. */
export class Waiter {
  private woken = false;
  private wakeUp: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly line: Line,
    private readonly onLeave: () => void,
  ) {}

  get isHead(): boolean {
    return this.line.waiters[0] === this;
  }

  /** What the head learnt last: also what those behind it are told when they give up. */
  get lastAnswer(): LastAnswer {
    return this.line.lastAnswer;
  }

  learn(answer: LastAnswer): void {
    this.line.lastAnswer = answer;
    // Those behind may have no time left to wait for that.
    if (answer.closedUntil) this.line.waiters.slice(1).forEach((one) => one.wake());
  }

  get ticket(): string | undefined {
    return this.line.ticket;
  }

  set ticket(ticket: string | undefined) {
    this.line.ticket = ticket;
  }

  /** A try of this waiter, the head, is about to be sent. */
  stand(): void {
    this.line.mayStand = true;
  }

  /** The grant has used the process's place up. */
  served(): void {
    this.line.mayStand = false;
    this.line.ticket = undefined;
  }

  /** Nobody else of this process waits for the lock, and its place in the store has to be given up. */
  get leavesPlace(): boolean {
    return this.line.mayStand && this.line.waiters.length === 1 && this.isHead;
  }

  /** Resolves when woken, after `delayMs`, or when the signal aborts. A wake-up that came earlier counts. */
  pause(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel?.();
        signal?.removeEventListener('abort', done);
        this.wakeUp = undefined;
        this.woken = false;
        resolve();
      };
      let cancel: CancelTimer | undefined;
      if (this.woken || signal?.aborted) return done();
      cancel = this.clock.setTimer(done, delayMs, true);
      this.wakeUp = done;
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  wake(): void {
    this.woken = true;
    this.wakeUp?.();
  }

  /** Gives the place up; the next one becomes the head at once. */
  leave(): void {
    const wasHead = this.isHead;
    const index = this.line.waiters.indexOf(this);
    if (index >= 0) this.line.waiters.splice(index, 1);
    if (wasHead) this.line.waiters[0]?.wake();
    this.onLeave();
  }
}

/** The lines of this process: first come, first served, one line per lock. */
export class WaitQueue {
  private readonly lines = new Map<string, Line>();

  constructor(private readonly clock: Clock) {}

  /** Number of waiters for a lock in this process. */
  length(name: string): number {
    return this.lines.get(name)?.waiters.length ?? 0;
  }

  lastAnswer(name: string): LastAnswer | undefined {
    return this.lines.get(name)?.lastAnswer;
  }

  enter(name: string): Waiter {
    let line = this.lines.get(name);
    if (!line) {
      line = { waiters: [], lastAnswer: {}, ticket: undefined, mayStand: false };
      this.lines.set(name, line);
    }
    const entered = line;
    const waiter = new Waiter(this.clock, entered, () => {
      if (entered.waiters.length === 0) this.lines.delete(name);
    });
    entered.waiters.push(waiter);
    return waiter;
  }

  /** A lock may be free: its head looks again. `undefined`: all heads do. */
  wake(name: string | undefined): void {
    if (name !== undefined) return this.lines.get(name)?.waiters[0]?.wake();
    for (const line of this.lines.values()) line.waiters[0]?.wake();
  }

  /** Everybody looks up, heads or not: the engine is closing. */
  wakeEverybody(): void {
    for (const line of this.lines.values()) line.waiters.forEach((waiter) => waiter.wake());
  }
}
