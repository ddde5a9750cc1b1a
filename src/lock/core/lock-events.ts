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

type Listener<K extends keyof LockEvents> = (event: LockEvents[K]) => void;

/**
 * Typed events of one engine. An observer can never break a lock operation: what it throws becomes
 * a process warning.
 */
export class LockEventBus {
  private readonly listeners = new Map<keyof LockEvents, Set<Listener<never>>>();

  /** Calls `listener` at every event of that kind. Returns what ends it. */
  on<K extends keyof LockEvents>(kind: K, listener: Listener<K>): () => void {
    const set = this.listeners.get(kind) ?? new Set();
    this.listeners.set(kind, set);
    set.add(listener);
    return () => set.delete(listener);
  }

  /** Whether anybody listens: for events that are costly to describe. */
  isHeard(kind: keyof LockEvents): boolean {
    return (this.listeners.get(kind)?.size ?? 0) > 0;
  }

  emit<K extends keyof LockEvents>(kind: K, event: LockEvents[K]): void {
    for (const listener of this.listeners.get(kind) ?? []) {
      try {
        (listener as Listener<K>)(event);
      } catch (error) {
        process.emitWarning(
          `an observer of "${kind}" failed: ${String(error)}`,
          'LockObserverWarning',
        );
      }
    }
  }
}
