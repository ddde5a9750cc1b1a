import {
  type Clock,
  type Lease,
  LockBusyError,
  LockClosedError,
  LockName,
  SystemClock,
} from '../lock/index.js';
import { FenceRule, GrantEngine, LockEventBus, resolveLockOptions } from '../lock/store-kit.js';
import { fingerprintOf } from './fingerprint.js';
import {
  KeyNotFoundError,
  KeyPoolBusyError,
  KeyPoolRefusedError,
  KeyPoolRestingError,
} from './key-pool.errors.js';
import type { PoolState, PoolStore } from './pool-store.js';

/** What an observer of a pool can be told. A member is named by its fingerprint; durations in ms. */
export interface KeyPoolEvents {
  /** A key was refused with the status `why`: told once over all replicas. */
  quarantined: { readonly pool: string; readonly member: string; readonly why: string };
  /** A key was told to rest by a request of this replica. */
  rested: { readonly pool: string; readonly member: string; readonly forMs: number };
  /** A key was given to a caller of this replica, who had asked for it so long before. */
  taken: { readonly pool: string; readonly member: string; readonly waitedMs: number };
}

/** What a pool is made of. Durations in ms. */
export interface KeyPoolOptions {
  /** All replicas of one name, on one store, share its members. */
  readonly name: string;
  /** The secret keys; each once. */
  readonly keys: readonly string[];
  /** Made with the fingerprints of the same keys. */
  readonly store: PoolStore;
  /** A dead holder's key is free again after that. @default 15000 */
  readonly ttlMs?: number | undefined;
  /** The longest use of a key. @default 600000 */
  readonly maxHoldMs?: number | undefined;
  /** Shown as the holder's label. @default 'key-pool' */
  readonly label?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** How one key is waited for. */
export interface TakeKeyOptions {
  /** How long to wait for a key, in ms; 0: not at all. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A key that is held, for one request to its server. */
export interface KeyLease {
  /** The secret itself; it goes to its server and nowhere else. */
  readonly key: string;
  /** Its fingerprint, for everything else. */
  readonly member: string;
  readonly lease: Lease;
}

/**
 * Secret keys that all replicas share: each held by few at once, in the order in which they are asked
 * for; the least recently used first; resting and refused ones left alone. One lease is one request:
 * that is how requests per minute are counted.
 */
export class KeyPool {
  /** What happens, for logs. */
  readonly events = new LockEventBus<KeyPoolEvents>();
  private readonly name: string;
  private readonly store: PoolStore;
  private readonly keys: ReadonlyMap<string, string>;
  private readonly engine: GrantEngine;
  private readonly clock: Clock;

  /** @throws Error for no keys, or for two with one fingerprint */
  constructor(options: KeyPoolOptions) {
    const { name, keys, store, label = 'key-pool', clock = new SystemClock() } = options;
    this.name = LockName.of(name).escaped;
    this.store = store;
    this.clock = clock;
    this.keys = new Map(keys.map((key) => [fingerprintOf(key), key]));
    if (keys.length === 0 || this.keys.size < keys.length) {
      throw new Error(`The pool "${name}" needs at least one key, and each only once.`);
    }
    const { ttlMs = 15_000, maxHoldMs } = options;
    const defaults = resolveLockOptions({ ttlMs, ...(maxHoldMs !== undefined && { maxHoldMs }) });
    this.engine = new GrantEngine({
      store,
      clock,
      events: new LockEventBus(),
      label,
      defaults,
      lives: { ttlStepMs: 1 },
      permits: keys.length * store.terms.concurrency,
      fences: new FenceRule(), // nothing is written under a key's fence
    });
  }

  /**
   * Takes a key for one request; the caller releases its lease, and stops when its signal aborts.
   * @throws KeyPoolBusyError, KeyPoolRestingError, KeyPoolRefusedError, LockUnavailableError, or the
   * signal's reason
   */
  async take(options: TakeKeyOptions): Promise<KeyLease> {
    const startedAt = this.clock.now();
    const lease = await this.engine.acquire(this.name, options).catch((error: unknown) => {
      throw this.translated(error, options.waitMs);
    });
    const member = lease.permit ?? '';
    const key = this.keys.get(member);
    if (key === undefined) {
      await lease.release();
      throw new Error(`The pool "${this.name}" granted ${member}, which is none of its members.`);
    }
    const waitedMs = this.clock.now().monoMs - startedAt.monoMs;
    this.events.emit('taken', { pool: this.name, member, waitedMs });
    return { key, member, lease };
  }

  /** Its server asked to leave this key alone for so long, in ms: it rests on all replicas. */
  async rest({ member }: KeyLease, forMs: number): Promise<void> {
    await this.engine.answer(this.name, this.store.rest(this.name, member, forMs));
    this.events.emit('rested', { pool: this.name, member, forMs });
  }

  /** What to tell a caller who has no time left for keys that rest, the first of them for `restsMs`. */
  resting(restsMs: number): KeyPoolRestingError {
    return new KeyPoolRestingError(this.name, seconds(restsMs));
  }

  /** Its server refused this key: out of use on all replicas until it is readmitted. */
  async refuse({ member }: KeyLease, why: string): Promise<void> {
    const quarantined = this.store.quarantine(this.name, member, why);
    if (!(await this.engine.answer(this.name, quarantined))) return;
    this.events.emit('quarantined', { pool: this.name, member, why });
  }

  /** So many tokens were used: they count against the member's minute. */
  spend({ member }: KeyLease, tokens: number): Promise<void> {
    return this.engine.answer(this.name, this.store.spend(this.name, member, tokens));
  }

  /** Back in use at once on all replicas, by fingerprint. @throws KeyNotFoundError, LockUnavailableError */
  async readmit(member: string): Promise<void> {
    if (!this.keys.has(member)) throw new KeyNotFoundError(member);
    await this.engine.answer(this.name, this.store.readmit(this.name, member));
  }

  /** How the keys are, on all replicas. One round trip. @throws LockUnavailableError */
  inspect(): Promise<PoolState> {
    return this.engine.answer(this.name, this.store.inspect(this.name));
  }

  /** `text` with every key replaced by its fingerprint: for what servers say, which may repeat a key. */
  redact(text: string): string {
    let redacted = text;
    for (const [member, key] of this.keys) redacted = redacted.replaceAll(key, `[key ${member}]`);
    return redacted;
  }

  /** Grants nothing more, gives holders `graceMs`, ends the rest, closes the store. Never rejects. */
  async shutdown(graceMs: number): Promise<void> {
    await this.engine.shutdown(graceMs);
    this.engine.close();
    this.store.close();
  }

  private translated(error: unknown, waitMs: number): unknown {
    const options = { cause: error };
    if (error instanceof LockClosedError) {
      if (error.closedMs === Infinity) return new KeyPoolRefusedError(this.name, options);
      return new KeyPoolRestingError(this.name, seconds(error.closedMs), options);
    }
    if (!(error instanceof LockBusyError)) return error;
    return new KeyPoolBusyError(this.name, waitMs, seconds(error.retryAfterMs), options);
  }
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
