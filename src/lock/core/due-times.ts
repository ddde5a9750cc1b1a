/** Rebuilt when it has so many more entries than there are times: a constant cost for each that was added. */
const MAX_STALE = 64;

/**
 * The last multiple before `dueMs` of a power of two that is at most `spanMs`: what is due at about the same
 * time becomes due at once, and what goes by smaller spans joins it.
 */
export function roundedDown(dueMs: number, spanMs: number): number {
  const step = 2 ** Math.floor(Math.log2(spanMs));
  return Math.floor(dueMs / step) * step;
}

/**
 * Items by the millisecond at which they are due: constant-time moves and removals, one sorted entry
 * per distinct millisecond. The watchdog's only timer follows the earliest.
 */
export class DueTimes<T> {
  private readonly buckets = new Map<number, Set<T>>();
  private readonly dueOf = new Map<T, number>();
  private heap: number[] = [];

  get size(): number {
    return this.dueOf.size;
  }

  /** Sets when `item` is due, in ms (rounded up); moves it if it has a time already. */
  set(item: T, dueMs: number): void {
    this.delete(item);
    const due = Math.ceil(dueMs);
    let bucket = this.buckets.get(due);
    if (!bucket) {
      bucket = new Set();
      this.buckets.set(due, bucket);
      this.push(due);
    }
    bucket.add(item);
    this.dueOf.set(item, due);
  }

  delete(item: T): void {
    const due = this.dueOf.get(item);
    if (due === undefined) return;
    this.dueOf.delete(item);
    const bucket = this.buckets.get(due);
    bucket?.delete(item);
    if (bucket?.size !== 0) return;
    this.buckets.delete(due); // its heap entry is skipped when it comes up
    if (this.heap.length > 2 * this.buckets.size + MAX_STALE) this.rebuild();
  }

  /** The earliest time at which an item is due; undefined when there is none. */
  earliest(): number | undefined {
    for (;;) {
      const due = this.heap[0];
      if (due === undefined || this.buckets.has(due)) return due;
      this.pop();
    }
  }

  /** Takes out what is due at `nowMs`, earliest first: all, or the first `most`. */
  take(nowMs: number, most = Infinity): T[] {
    const taken: T[] = [];
    for (let due = this.earliest(); due !== undefined && due <= nowMs; due = this.earliest()) {
      for (const item of this.buckets.get(due) ?? []) {
        if (taken.length >= most) return taken;
        this.delete(item);
        taken.push(item);
      }
    }
    return taken;
  }

  items(): IterableIterator<T> {
    return this.dueOf.keys();
  }

  /** A sorted list is a heap. */
  private rebuild(): void {
    this.heap = [...this.buckets.keys()].sort((a, b) => a - b);
  }

  private push(value: number): void {
    const { heap } = this;
    let at = heap.push(value) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as number) <= value) break;
      heap[at] = heap[parent] as number;
      at = parent;
    }
    heap[at] = value;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number))
        child += 1;
      if ((heap[child] as number) >= last) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = last;
  }
}
