/**
 * Items by the millisecond at which they are due: constant-time moves and removals, one sorted entry
 * per distinct millisecond. The watchdog's only timer follows the earliest.
 */
export class DueTimes<T> {
  private readonly buckets = new Map<number, Set<T>>();
  private readonly dueOf = new Map<T, number>();
  private readonly heap: number[] = [];

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
    if (bucket?.size === 0) this.buckets.delete(due); // its heap entry is skipped when it comes up
    if (this.dueOf.size === 0) this.heap.length = 0;
  }

  /** The earliest time at which an item is due; undefined when there is none. */
  earliest(): number | undefined {
    for (;;) {
      const due = this.heap[0];
      if (due === undefined || this.buckets.has(due)) return due;
      this.pop();
    }
  }

  /** Takes out all that is due at `nowMs`, earliest first. */
  take(nowMs: number): T[] {
    const taken: T[] = [];
    for (let due = this.earliest(); due !== undefined && due <= nowMs; due = this.earliest()) {
      const bucket = this.buckets.get(due) ?? new Set<T>();
      this.buckets.delete(due);
      for (const item of bucket) {
        this.dueOf.delete(item);
        taken.push(item);
      }
    }
    return taken;
  }

  items(): IterableIterator<T> {
    return this.dueOf.keys();
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
