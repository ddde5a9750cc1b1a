import type { CancelTimer } from '../../../../src/lock/core/clock.js';

interface Entry {
  readonly at: number;
  readonly turn: number;
  readonly run: () => void;
  cancelled: boolean;
}

/**
 * The simulated world's time and its events: one at a time, in the order of their times and, within
 * one instant, of their planning. All promises settle between two events, so nothing depends on the
 * machine. Times are in ms from 0.
 */
export class Scheduler {
  private readonly heap: Entry[] = [];
  private turns = 0;
  private time = 0;

  get now(): number {
    return this.time;
  }

  /** Number of events so far. */
  get count(): number {
    return this.turns - this.heap.length;
  }

  /** Plans `run` in `delayMs`. Returns what cancels it. */
  after(delayMs: number, run: () => void): CancelTimer {
    const at = this.time + Math.max(0, delayMs);
    const entry: Entry = { at, turn: (this.turns += 1), run, cancelled: false };
    this.push(entry);
    return () => {
      entry.cancelled = true;
    };
  }

  /** Lets `ms` pass, or less if `isOver` becomes true. */
  async pass(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const end = this.time + ms;
    await settled();
    for (let next = this.heap[0]; next && next.at <= end; next = this.heap[0]) {
      this.pop();
      if (next.cancelled) continue;
      this.time = next.at;
      next.run();
      await settled();
      if (isOver()) return;
    }
    this.time = end;
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent] as Entry)) break;
      heap[at] = heap[parent] as Entry;
      at = parent;
    }
    heap[at] = entry;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = heap[child + 1];
      if (right && isBefore(right, heap[child] as Entry)) child += 1;
      if (!isBefore(heap[child] as Entry, last)) break;
      heap[at] = heap[child] as Entry;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.turn < b.turn);
}

/**
 * Resolves when no promise reaction is left to run: Node empties the microtask queue before each
 * callback of `nextTick`. A hundred times cheaper than a turn of the event loop.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
