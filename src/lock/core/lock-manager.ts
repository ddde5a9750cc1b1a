import { hostname } from 'node:os';
import { Acquirer } from './acquirer.js';
import { type Clock, SystemClock } from './clock.js';
import type { HeldLease, Lease } from './lease.js';
import { enterContext, heldInContext } from './lock-context.js';
import { LockEventBus } from './lock-events.js';
import { LockName } from './lock-name.js';
import { type LockOptions, resolveLockOptions } from './lock-options.js';
import type { LockStore } from './lock-store.js';
import {
  LockBusyError,
  LockLostError,
  LockOptionsError,
  LockReentryError,
  LockUnavailableError,
} from './lock.errors.js';
import { newProcessId, type Owner, parseToken } from './owner-token.js';
import { withDeadline } from './with-deadline.js';

/** How long aborted work may take to let go of its lock before the shutdown does it. */
const ABORT_GRACE_MS = 1_000;

/** Options of one call, beside those of the engine. */
export interface AcquireOptions extends Partial<LockOptions> {
  /** Gives up trying or waiting when it aborts; the call then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `run`. */
export interface RunOptions extends AcquireOptions {
  /**
   * Share the lease of the same name that this async context holds already, instead of failing.
   * @default false
   */
  readonly reentrant?: boolean | undefined;
}

/** A lock as seen from outside; never its token. */
export interface LockState {
  readonly name: string;
  /** null for a foreign client's value. */
  readonly holder: Owner | null;
  /** In ms; undefined where the key never expires. */
  readonly remainingMs: number | undefined;
  /** The last fence granted under this name; undefined where none is kept. */
  readonly fence: bigint | undefined;
}

/** What an engine is made of. */
export interface LockManagerOptions {
  readonly store: LockStore;
  /**
   * Shown as the holder's label.
   * @default the host's name
   */
  readonly instanceId?: string | undefined;
  readonly defaults?: Partial<LockOptions> | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * The lock engine: takes locks from one store, keeps them with one watchdog, lets them go. Knows
 * neither Nest nor HTTP. At most one holder works under a name while the store keeps the key, clocks
 * do not jump by more than the margin, and the work stops when its lease ends; what must survive
 * more than that compares fences.
 */
export class LockManager {
  /** What happens, for logs and metrics. */
  readonly events = new LockEventBus();
  /** The options of calls that give none. */
  readonly defaults: LockOptions;
  private readonly store: LockStore;
  private readonly clock: Clock;
  private readonly acquirer: Acquirer;

  constructor({ store, instanceId = hostname(), defaults, clock }: LockManagerOptions) {
    if (
      typeof instanceId !== 'string' ||
      /^$|\p{Cs}/u.test(instanceId) ||
      instanceId.length > 200
    ) {
      throw new LockOptionsError('instanceId must be a well-formed string of 1 to 200 characters.');
    }
    this.store = store;
    this.clock = clock ?? new SystemClock();
    this.defaults = resolveLockOptions(defaults);
    const owner = { process: newProcessId(), label: instanceId };
    this.acquirer = new Acquirer(store, this.clock, this.events, owner);
  }

  /** Checks the store. Call it before the first lock. @throws with thing, cause and fix */
  start(): Promise<void> {
    return this.store.start();
  }

  /**
   * Takes the lock, does the work, releases. The work's own error always wins; its result is
   * returned if the lease was held to the end. Two round trips.
   * @throws LockBusyError, LockWaitTimeoutError, LockUnavailableError, LockReentryError,
   * LockOptionsError before the work; LockLostError (with `result`) after it
   */
  run<T>(name: string | LockName, work: (lease: Lease) => T | Promise<T>): Promise<T>;
  run<T>(
    name: string | LockName,
    options: RunOptions,
    work: (lease: Lease) => T | Promise<T>,
  ): Promise<T>;
  async run<T>(
    name: string | LockName,
    ...rest:
      | [work: (lease: Lease) => T | Promise<T>]
      | [options: RunOptions, work: (lease: Lease) => T | Promise<T>]
  ): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    const hold = await this.hold(name, options);
    let result: T;
    try {
      result = await hold.enter(() => work(hold.lease));
    } catch (error) {
      await hold.end();
      throw error;
    }
    await hold.end({ result });
    return result;
  }

  /**
   * `run` in pieces, for work whose end is not a promise's (streams): take the lock, enter its
   * context as often as needed, end once.
   * @throws as `run` before the work
   */
  async hold(name: string | LockName, options: RunOptions = {}): Promise<Hold> {
    const { reentrant = false, signal, ...given } = options;
    const outer = this.heldHere(LockName.of(name));
    if (outer && !reentrant) throw new LockReentryError(outer.name);
    if (outer) {
      outer.assertHeld();
      return new Hold(outer, (work) => work(), false);
    }
    const lease = await this.take(name, given, signal);
    return new Hold(lease, (work) => enterContext(this, lease, work), true);
  }

  /**
   * Takes the lock, waiting up to `waitMs`. The caller releases it. One round trip unless it waits.
   * @throws LockBusyError (one try), LockWaitTimeoutError, LockUnavailableError, LockReentryError,
   * LockOptionsError, or the signal's reason
   */
  async acquire(name: string | LockName, options: AcquireOptions = {}): Promise<Lease> {
    const { signal, ...given } = options;
    const outer = this.heldHere(LockName.of(name));
    if (outer) throw new LockReentryError(outer.name);
    return this.take(name, given, signal);
  }

  /** One try, one round trip: a lease, or null where somebody else holds the lock. @throws as `acquire`, but never busy */
  async tryAcquire(
    name: string | LockName,
    options: Omit<AcquireOptions, 'waitMs'> = {},
  ): Promise<Lease | null> {
    try {
      return await this.acquire(name, { ...options, waitMs: 0 });
    } catch (error) {
      if (error instanceof LockBusyError) return null;
      throw error;
    }
  }

  /** Who holds the lock, or null. One round trip. @throws LockUnavailableError */
  async inspect(name: string | LockName): Promise<LockState | null> {
    const { escaped } = LockName.of(name);
    const { commandTimeoutMs } = this.defaults;
    try {
      const stored = await withDeadline(this.store.inspect(escaped), this.clock, commandTimeoutMs);
      if (!stored) return null;
      const { token, remainingMs, fence } = stored;
      return { name: escaped, holder: parseToken(token), remainingMs, fence };
    } catch (error) {
      if (error instanceof LockUnavailableError) throw error;
      throw new LockUnavailableError(escaped, (error as Error).message, { cause: error });
    }
  }

  /**
   * Stops granting, lets holders finish for up to `graceMs`, aborts the rest with SHUTDOWN, releases
   * everything. Never rejects. The store stays open (see `close`).
   */
  async shutdown(graceMs: number): Promise<void> {
    this.acquirer.stop();
    await this.acquirer.desk.drain(graceMs, ABORT_GRACE_MS);
  }

  /** Ends what the store has opened. Call it after `shutdown`. */
  async close(): Promise<void> {
    this.acquirer.stop();
    this.acquirer.desk.close();
    await this.store.close();
  }

  private heldHere(name: LockName): HeldLease | undefined {
    return heldInContext(this, name.escaped);
  }

  private take(
    name: string | LockName,
    given: Partial<LockOptions>,
    signal: AbortSignal | undefined,
  ): Promise<HeldLease> {
    const options = resolveLockOptions(given, this.defaults);
    return this.acquirer.take(LockName.of(name).escaped, options, signal);
  }
}

/** A lease in an async context. Made by `LockManager.hold`. */
export class Hold {
  constructor(
    readonly lease: HeldLease,
    private readonly inContext: <T>(work: () => T) => T,
    private readonly isOutermost: boolean,
  ) {}

  /** Runs `work` in the lease's context, so that `currentLease()` and re-entry find it. */
  enter<T>(work: () => T): T {
    return this.inContext(work);
  }

  /**
   * Ends the lease, where it is not shared with an outer call.
   * @throws LockLostError carrying the result, if one is given and the lease was not held to the end
   */
  async end(outcome?: { readonly result: unknown }): Promise<void> {
    if (!this.isOutermost) return;
    await this.lease.release();
    const { loss, name } = this.lease;
    if (outcome && loss) {
      throw new LockLostError(name, loss.reason, { cause: loss, result: outcome.result });
    }
  }
}
