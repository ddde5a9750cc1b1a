import type { LossCode } from './lock.errors.js';

/** What an observer of the engine can be told. All durations in ms. */
export interface LockEvents {
  granted: { name: string; fence: bigint; waitedMs: number };
  busy: { name: string };
  /**
   * A lock that is in the way lives longer than the TTL of whoever asks, or for ever (undefined): the
   * store's clock was set back, a foreign client forgot the expiry, or callers differ in their TTL.
   */
  overlong: { name: string; remainingMs: number | undefined; ttlMs: number };
  unavailable: { name: string; error: unknown };
  /** `outcome` is `unknown` when the release goes on being retried in the background. */
  released: {
    name: string;
    fence: bigint;
    heldMs: number;
    outcome: 'released' | 'not-held' | 'unknown';
  };
  lost: { name: string; fence: bigint; reason: LossCode };
  /** A renewal without a verdict; it is retried until the lease ends. */
  'renewal-unknown': { name: string; fence: bigint };
  /** A call that `onBusy: 'skip'` turned into a no-op. */
  skipped: { name: string };
}

/**
 * Typed events of one engine, or of something that is built on one. An observer can never break an
 * operation: what it throws becomes a process warning.
 */
export class LockEventBus<Events extends object = LockEvents> {
  private readonly listeners = new Map<keyof Events, Set<(event: never) => void>>();

  /** Calls `listener` at every event of that kind. Returns what ends it. */
  on<K extends keyof Events>(kind: K, listener: (event: Events[K]) => void): () => void {
    const set = this.listeners.get(kind) ?? new Set();
    this.listeners.set(kind, set);
    set.add(listener);
    return () => set.delete(listener);
  }

  /** Whether anybody listens: for events that are costly to describe. */
  isHeard(kind: keyof Events): boolean {
    return (this.listeners.get(kind)?.size ?? 0) > 0;
  }

  emit<K extends keyof Events>(kind: K, event: Events[K]): void {
    for (const listener of this.listeners.get(kind) ?? []) {
      observe(kind, () => (listener as (event: Events[K]) => unknown)(event));
    }
  }
}

/** Calls an observer, which cannot break the observed, at once or later. */
export function observe(what: PropertyKey, call: () => unknown): void {
  const warn = (error: unknown) =>
    process.emitWarning(
      `an observer of "${String(what)}" failed: ${String(error)}`,
      'LockObserverWarning',
    );
  try {
    const result = call();
    if (result instanceof Promise) result.catch(warn);
  } catch (error) {
    warn(error);
  }
}
