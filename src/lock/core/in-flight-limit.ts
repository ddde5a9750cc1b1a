import { type CancelTimer, type Clock, onAbort } from './clock.js';
import { roundedDown } from './due-times.js';
import { DeadlineError } from './with-deadline.js';

/** Commands that take, or release, locks and are with the store at once. */
export const MAX_IN_FLIGHT = 512;

/** The queue is looked through so many times, at most, while one of its operations waits. */
const LOOKS_PER_WAIT = 16;

interface Queued {
  readonly timeoutMs: number;
  dueMs: number;
  readonly start: () => void;
  readonly refuse: (reason: unknown) => void;
  stopListening: (() => void) | undefined;
  previous: Queued | undefined;
  next: Queued | undefined;
}

/**
 * Bounds how many operations of one kind are with the store at once; the others wait here, first come,
 * first served. So the renewals of leases, which pass by, are never behind a burst. Costs two additions
 * while there are fewer, and one timer however many wait. After `enter` comes `leave`, whatever became of
 * the operation.
 */
export class InFlightLimit {
  private inFlight = 0;
  private first: Queued | undefined;
  private last: Queued | undefined;
  private cancelTimer: CancelTimer | undefined;
  private lookAtMs = Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly limit: number,
  ) {}

  /**
   * Undefined where the operation may begin at once; else a promise of that. Time in which the event loop
   * was busy does not count: nothing could begin.
   * @throws DeadlineError when it may not begin within `timeoutMs`, the signal's reason, or that of
   * `refuseQueued`: then there is nothing to leave
   */
  enter(timeoutMs: number, signal?: AbortSignal): Promise<void> | undefined {
    if (this.inFlight < this.limit) {
      this.inFlight += 1;
      return undefined;
    }
    return new Promise<void>((resolve, reject) => {
      const dueMs = this.clock.now().monoMs + timeoutMs;
      const queued: Queued = {
        timeoutMs,
        dueMs: Math.ceil(roundedDown(dueMs, timeoutMs / LOOKS_PER_WAIT)),
        start: resolve,
        refuse: reject,
        stopListening: undefined,
        previous: this.last,
        next: undefined,
      };
      if (this.last) this.last.next = queued;
      else this.first = queued;
      this.last = queued;
      if (signal) {
        queued.stopListening = onAbort(signal, () => {
          this.remove(queued);
          reject(signal.reason as Error);
        });
      }
      this.lookAt(queued.dueMs);
    });
  }

  /** The operation has ended, or nobody waits for it any more: the next one begins. */
  leave(): void {
    const { first } = this;
    if (!first) {
      this.inFlight -= 1;
      return;
    }
    this.remove(first);
    first.start();
  }

  /** Those that have not begun are rejected with `reason`. */
  refuseQueued(reason: Error): void {
    for (let one = this.first; one; one = one.next) {
      this.remove(one);
      one.refuse(reason);
    }
  }

  private remove(queued: Queued): void {
    if (queued.previous) queued.previous.next = queued.next;
    else this.first = queued.next;
    if (queued.next) queued.next.previous = queued.previous;
    else this.last = queued.previous;
    queued.stopListening?.();
    if (!this.first) this.lookAt(Infinity);
  }

  private lookAt(atMs: number): void {
    if (atMs >= this.lookAtMs && atMs !== Infinity) return;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.lookAtMs = atMs;
    if (atMs === Infinity) return;
    const run = () => {
      const lateMs = this.clock.now().monoMs - atMs;
      this.lookAtMs = Infinity;
      this.clock.afterInput(() => this.look(atMs, lateMs));
    };
    this.cancelTimer = this.clock.setTimer(run, atMs - this.clock.now().monoMs, true);
  }

  /** Refuses whose time is over. `lateMs`: for how long the event loop was too busy to look. */
  private look(atMs: number, lateMs: number): void {
    let nextMs = Infinity;
    for (let one = this.first; one; one = one.next) {
      const isStalled = lateMs > one.timeoutMs / LOOKS_PER_WAIT;
      if (isStalled) one.dueMs += Math.round(lateMs);
      if (one.dueMs <= atMs) {
        this.remove(one);
        one.refuse(new DeadlineError(one.timeoutMs));
      } else {
        nextMs = Math.min(nextMs, one.dueMs);
      }
    }
    if (nextMs < Infinity) this.lookAt(nextMs);
  }
}
