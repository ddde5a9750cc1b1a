import {
  type Clock,
  elapsedMs,
  type Instant,
  plusMs,
  remainingMs,
  SystemClock,
} from '../../core/clock.js';
import type {
  AcquireReply,
  LockStore,
  ReleaseListener,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoredLock,
} from '../../core/lock-store.js';

/** As long as the Redis store keeps a fence after its grant. */
const FENCE_LIFE_MS = 86_400_000;
const SWEEP_EVERY = 10_000;

interface Entry {
  readonly token: string;
  readonly fence: bigint;
  readonly since: Instant;
  expiresAt: Instant;
}

/**
 * Locks within one process: the default where nothing is configured, and the model of the contract
 * for tests. Excludes nobody in other processes. Every operation is synchronous inside, so atomic;
 * one map entry per lock, and one per name for its fence, kept for a day.
 */
export class MemoryLockStore implements LockStore {
  readonly kind = 'memory';
  private readonly locks = new Map<string, Entry>();
  private readonly fences = new Map<string, bigint>();
  private readonly listeners = new Set<ReleaseListener>();
  private grantsUntilSweep = SWEEP_EVERY;

  constructor(private readonly clock: Clock = new SystemClock()) {}

  async start(): Promise<void> {}

  async tryAcquire(name: string, token: string, ttlMs: number): Promise<AcquireReply> {
    const now = this.clock.now();
    const held = this.live(name, now);
    if (held && held.token !== token) {
      return {
        status: 'busy',
        remainingMs: remainingMs(held.expiresAt, now),
        heldForMs: elapsedMs(held.since, now),
      };
    }
    const fence = held?.fence ?? this.mint(name, now);
    const expiresAt = plusMs(now, ttlMs);
    this.locks.set(name, { token, fence, since: held?.since ?? now, expiresAt });
    return { status: 'granted', fence, storeTimeMs: now.wallMs };
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const now = this.clock.now();
    return renewals.map(({ name, token, ttlMs }) => {
      const held = this.live(name, now);
      if (held?.token !== token) return 'not-owner';
      const until = plusMs(now, ttlMs);
      if (remainingMs(until, held.expiresAt) > 0) held.expiresAt = until;
      return 'renewed';
    });
  }

  async release(name: string, token: string): Promise<ReleaseReply> {
    if (this.live(name, this.clock.now())?.token !== token) return 'not-held';
    this.locks.delete(name);
    for (const listener of this.listeners) listener(name);
    return 'released';
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const now = this.clock.now();
    const held = this.live(name, now);
    if (!held) return null;
    const { token, fence, expiresAt } = held;
    return { token, fence, remainingMs: remainingMs(expiresAt, now) };
  }

  onRelease(listener: ReleaseListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Never called: there is no connection that could be lost. */
  onReconnect(): () => void {
    return () => undefined;
  }

  async close(): Promise<void> {
    this.listeners.clear();
  }

  private live(name: string, now: Instant): Entry | undefined {
    const entry = this.locks.get(name);
    if (entry && remainingMs(entry.expiresAt, now) > 0) return entry;
    this.locks.delete(name);
    return undefined;
  }

  private mint(name: string, now: Instant): bigint {
    const clockMicros = BigInt(Math.floor(now.wallMs * 1000));
    const last = this.fences.get(name) ?? 0n;
    const fence = clockMicros > last ? clockMicros : last + 1n;
    this.fences.set(name, fence);
    this.grantsUntilSweep -= 1;
    if (this.grantsUntilSweep === 0) this.sweep(now);
    return fence;
  }

  /** Forgets expired locks and old fences, so that nothing stays behind for names never used again. */
  private sweep(now: Instant): void {
    this.grantsUntilSweep = SWEEP_EVERY;
    for (const name of this.locks.keys()) this.live(name, now);
    const oldest = BigInt(Math.floor((now.wallMs - FENCE_LIFE_MS) * 1000));
    for (const [name, fence] of this.fences) if (fence < oldest) this.fences.delete(name);
  }
}
