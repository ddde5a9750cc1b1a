import { hostname } from 'node:os';
import { type Clock, SystemClock } from './clock.js';
import { type FenceOptions, FenceRule } from './fence-rule.js';
import { type AcquireOptions, GrantEngine, type RunOptions, runUnder } from './grant-engine.js';
import { Hold, sharedHold } from './hold.js';
import type { Lease } from './lease.js';
import type { LeaseSet } from './lease-set.js';
import { LockAdmin, type LockState, type RevokeOutcome } from './lock-admin.js';
import { enterContext, heldInContext } from './lock-context.js';
import { LockEventBus } from './lock-events.js';
import { LockName, sortedNames } from './lock-name.js';
import { type LockOptions, resolveLockOptions } from './lock-options.js';
import type { LockStore, StoreCapabilities } from './lock-store.js';
import { LockOptionsError, LockReentryError } from './lock.errors.js';
import type { Semaphore } from './semaphore.js';
import { Semaphores } from './semaphores.js';
import { SetAcquirer } from './set-acquirer.js';

export type { AcquireOptions, RunOptions } from './grant-engine.js';

/** One lock, or several that are taken together. */
export type LockNames = string | LockName | readonly (string | LockName)[];

/** What an engine is made of. */
export interface LockManagerOptions extends FenceOptions {
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
  private readonly engine: GrantEngine;
  private readonly permits: Semaphores;
  private readonly sets: SetAcquirer;
  private readonly admin: LockAdmin;

  constructor({
    store,
    instanceId = hostname(),
    defaults,
    clock = new SystemClock(),
    ...fenceOptions
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
    const fences = new FenceRule(fenceOptions, store);
    const parts = {
      clock,
      events: this.events,
      label: instanceId,
      defaults: this.defaults,
      lives: store.capabilities,
      fences,
    };
    this.engine = new GrantEngine({ store, ...parts });
    const { owner, desk, tries, acquirer } = this.engine;
    this.permits = new Semaphores(store, parts);
    this.sets = new SetAcquirer(store, clock, desk, tries, acquirer);
    const { commandTimeoutMs } = this.defaults;
    this.admin = new LockAdmin(store, clock, owner.process, fences, commandTimeoutMs);
  }

  /** What the store promises beyond what every store must. */
  get capabilities(): StoreCapabilities {
    return this.store.capabilities;
  }

  /** Checks the store. Call it before the first lock. @throws with thing, cause and fix */
  start(): Promise<void> {
    return this.store.start();
  }

  /**
   * What may break locks although they work now, as far as the store's servers tell: a sentence each, for
   * people, with cause and fix. With a `highestFence` it takes and releases a lock of its own.
   * @throws LockOptionsError where locks cannot work; LockUnavailableError where nobody answers in time
   */
  async check(): Promise<readonly string[]> {
    const findings = await this.admin.check();
    await this.engine.checkFences();
    return findings;
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
    return runUnder(await this.hold(name, options), work);
  }

  /**
   * `run` in pieces, for work whose end is not a promise's (streams): take the lock, enter its
   * context as often as needed, end once.
   * @throws as `run` before the work
   */
  async hold(name: LockNames, options: RunOptions = {}): Promise<Hold> {
    const names = sortedNames(name);
    if (names.length === 1) return this.engine.hold(names[0] as string, options);
    const { reentrant = false, signal, ...given } = options;
    const outer = names.map((one) => heldInContext(this.engine, one));
    if (outer.some((one) => one)) return sharedHold(names, outer, reentrant);
    const lease = await this.sets.take(names, this.engine.resolve(given), signal);
    return new Hold(lease, (work) => enterContext(this.engine, lease, work), true);
  }

  /**
   * Takes the lock, waiting up to `waitMs`. The caller releases it. One round trip unless it waits.
   * @throws LockBusyError (one try), LockWaitTimeoutError, LockUnavailableError, LockReentryError,
   * LockOptionsError, or the signal's reason
   */
  async acquire(name: string | LockName, options: AcquireOptions = {}): Promise<Lease> {
    return await this.engine.acquire(LockName.of(name).escaped, options);
  }

  /** One try, one round trip: a lease, or null where somebody else holds the lock. @throws as `acquire`, but never busy */
  async tryAcquire(
    name: string | LockName,
    options: Omit<AcquireOptions, 'waitMs'> = {},
  ): Promise<Lease | null> {
    return this.engine.tryAcquire(LockName.of(name).escaped, options);
  }

  /**
   * A counting semaphore: up to `permits` (1 to 1000) leases under one name at once, otherwise as
   * locks are. Its name is apart from the lock of the same name. Costs nothing until it is used.
   * Every process counts all holders against its own number of permits, so where numbers differ (in a
   * rolling change) the largest one is the limit.
   * @throws LockOptionsError where the store cannot
   */
  semaphore(name: string | LockName, permits: number): Semaphore {
    return this.permits.of(LockName.of(name).escaped, permits);
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
      if (heldInContext(this.engine, name)) throw new LockReentryError(name);
    }
    return this.sets.take(wanted, this.engine.resolve(given), signal);
  }

  /** Who holds the lock, or null. One round trip. @throws LockOptionsError, LockUnavailableError */
  async inspect(name: string | LockName): Promise<LockState | null> {
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
   * before the holder has let go, or its TTL has passed. A foreign client cannot be told, and a dead holder
   * does not let go: with `force` the lock of the one is deleted, and so is one that was revoked before, however
   * long its key would live. A holder that still works then works beside the
   * next one, and only fences keep it from the data.
   * @throws LockOptionsError, LockUnavailableError
   */
  async revoke(
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
    await Promise.all([this.engine.shutdown(graceMs), this.permits.shutdown(graceMs)]);
  }

  /** Ends what the store has opened. Call it after `shutdown`. */
  async close(): Promise<void> {
    this.engine.close();
    this.permits.close();
    await this.store.close();
  }
}
