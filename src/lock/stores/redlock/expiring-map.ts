import type { Clock } from '../../core/clock.js';

/** A map that forgets: entries go `lifeMs` after they were set, at the next `set` at the latest. */
export class ExpiringMap<V> {
  private readonly entries = new Map<string, { readonly value: V; readonly endsMs: number }>();

  constructor(
    private readonly lifeMs: number,
    private readonly clock: Clock,
  ) {}

  get(key: string): V | undefined {
    return this.entries.get(key)?.value;
  }

  set(key: string, value: V): void {
    const nowMs = this.clock.now().monoMs;
    this.entries.delete(key); // to the end: the oldest come first
    this.entries.set(key, { value, endsMs: nowMs + this.lifeMs });
    for (const [oldest, { endsMs }] of this.entries) {
      if (endsMs > nowMs) return;
      this.entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.entries.delete(key);
  }

  /** A copy of what has not expired. */
  living(): [key: string, value: V][] {
    const nowMs = this.clock.now().monoMs;
    return [...this.entries].flatMap(([key, { value, endsMs }]) =>
      endsMs > nowMs ? [[key, value] as [string, V]] : [],
    );
  }
}
