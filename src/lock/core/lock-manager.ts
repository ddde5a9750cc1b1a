import { hostname } from 'node:os';
import { Acquirer } from './acquirer.js';
import { type Clock, SystemClock } from './clock.js';
import { Hold, sharedHold } from './hold.js';
import { HoldStatistics } from './hold-statistics.js';
import type { Lease } from './lease.js';
import { LeaseDesk } from './lease-desk.js';
import type { LeaseSet } from './lease-set.js';
import { LockAdmin, type LockState, type RevokeOutcome } from './lock-admin.js';
import { enterContext, heldInContext } from './lock-context.js';
import { LockEventBus } from './lock-events.js';
import { LockName, nameFamily, sortedNames } from './lock-name.js';
import { type LockOptions, resolveLockOptions } from './lock-options.js';
import type { LockStore } from './lock-store.js';
import { LockBusyError, LockOptionsError, LockReentryError } from './lock.errors.js';
import { newProcessId } from './owner-token.js';
import { SetAcquirer } from './set-acquirer.js';
import { Tries } from './tries.js';

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

/** One lock, or several that are taken together. */
export type LockNames = string | LockName | readonly (string | LockName)[];

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
  private readonly desk: LeaseDesk;
  private readonly acquirer: Acquirer;
  private readonly sets: SetAcquirer;
  private readonly admin: LockAdmin;

  constructor({
    store,
    instanceId = hostname(),
    defaults,
    clock = new SystemClock(),
  }: LockManagerOptions) {
    if (
      typeof instanceId !== 'string' ||
      /^$|\p{Cs}/u.test(instanceId) ||
      instanceId.length > 200
    ) {
      throw new LockOptionsError('instanceId must be a well-formed string of 1 to 200 characters.');
    }
    this.store = store;
    this.defaults = resolveLockOptions(defaults);
    const owner = { process: newProcessId(), label: instanceId };
    const statistics = new HoldStatistics();
    this.desk = new LeaseDesk(store, clock, this.events, (name, heldMs) =>
      statistics.record(nameFamily(name), heldMs),
    );
    const tries = new Tries(store, clock, owner, this.desk);
    this.acquirer = new Acquirer(store, clock, this.events, owner, this.desk, tries, statistics);
    this.sets = new SetAcquirer(store, clock, this.desk, tries, this.acquirer);
    this.admin = new LockAdmin(store, clock, owner.process, this.defaults.commandTimeoutMs);
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
  run<T>(name: LockNames, work: (lease: Lease) => T | Promise<T>): Promise<T>;
  run<T>(name: LockNames, options: RunOptions, work: (lease: Lease) => T | Promise<T>): Promise<T>;
  async run<T>(
    name: LockNames,
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
  async hold(name: LockNames, options: RunOptions = {}): Promise<Hold> {
    const { reentrant = false, signal, ...given } = options;
    const names = sortedNames(name);
    const outer = names.map((one) => heldInContext(this, one));
    if (outer.some((one) => one)) return sharedHold(names, outer, reentrant);
    const resolved = resolveLockOptions(given, this.defaults);
    const lease =
      names.length === 1
        ? await this.acquirer.take(names[0] as string, resolved, signal)
        : await this.sets.take(names, resolved, signal);
    return new Hold(lease, (work) => enterContext(this, lease, work), true);
  }

  /**
   * Takes the lock, waiting up to `waitMs`. The caller releases it. One round trip unless it waits.
   * @throws LockBusyError (one try), LockWaitTimeoutError, LockUnavailableError, LockReentryError,
   * LockOptionsError, or the signal's reason
   */
  async acquire(name: string | LockName, options: AcquireOptions = {}): Promise<Lease> {
    const { signal, ...given } = options;
    const { escaped } = LockName.of(name);
    if (heldInContext(this, escaped)) throw new LockReentryError(escaped);
    return this.acquirer.take(escaped, resolveLockOptions(given, this.defaults), signal);
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

  /**
   * Takes several locks, all or none; sets that overlap never deadlock. With one try one round trip
   * where the store can. The fence of each: `lease.fenceOf(name)`.
   * @throws as `acquire`, none of them held
   */
  async acquireAll(
    names: readonly (string | LockName)[],
    options: AcquireOptions = {},
  ): Promise<LeaseSet> {
    const { signal, ...given } = options;
    const wanted = sortedNames(names);
    for (const name of wanted) {
      if (heldInContext(this, name)) throw new LockReentryError(name);
    }
    return this.sets.take(wanted, resolveLockOptions(given, this.defaults), signal);
  }

  /** Who holds the lock, or null. One round trip. @throws LockUnavailableError */
  inspect(name: string | LockName): Promise<LockState | null> {
    return this.admin.inspect(LockName.of(name).escaped);
  }

  /**
   * All locks that are held; one that is taken or released meanwhile may be missing or come twice.
   * Goes through the store's keys page by page. @throws LockUnavailableError
   */
  list(): AsyncGenerator<LockState, void, undefined> {
    return this.admin.list();
  }

  /**
   * Takes a lock from its holder: its signal aborts with REVOKED, and nobody else is granted the lock
   * before the holder has let go, or its life is over. A foreign client cannot be told: its lock is
   * deleted with `force` only, and it goes on working beside the next holder.
   * @throws LockUnavailableError
   */
  revoke(
    name: string | LockName,
    { force = false }: { readonly force?: boolean } = {},
  ): Promise<RevokeOutcome> {
    return this.admin.revoke(LockName.of(name).escaped, force);
  }

  /**
   * Stops granting, lets holders finish for up to `graceMs`, aborts the rest with SHUTDOWN, releases
   * everything. Never rejects. The store stays open (see `close`).
   */
  async shutdown(graceMs: number): Promise<void> {
    this.acquirer.stop();
    await this.desk.drain(graceMs, ABORT_GRACE_MS);
  }

  /** Ends what the store has opened. Call it after `shutdown`. */
  async close(): Promise<void> {
    this.acquirer.stop();
    this.desk.close();
    await this.store.close();
  }
}
