import { randomUUID } from 'node:crypto';
import { Acquirer } from './acquirer.js';
import type { Clock } from './clock.js';
import type { FenceRule } from './fence-rule.js';
import { Hold, sharedHold } from './hold.js';
import { HoldStatistics } from './hold-statistics.js';
import type { HeldLease, Lease } from './lease.js';
import { LeaseDesk } from './lease-desk.js';
import { enterContext, heldInContext } from './lock-context.js';
import type { LockEventBus } from './lock-events.js';
import { nameFamily } from './lock-name.js';
import { checkTtl, type LockOptions, resolveLockOptions } from './lock-options.js';
import type { GrantStore, StoreLives } from './lock-store.js';
import { LockBusyError, LockOptionsError, LockReentryError } from './lock.errors.js';
import { newProcessId, type Owner } from './owner-token.js';
import { Tries } from './tries.js';
import { verdictWithin } from './with-deadline.js';

/** How long aborted work may take to let go before the shutdown does it. */
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

/** What an engine is made of. */
export interface GrantEngineOptions {
  readonly store: GrantStore;
  readonly clock: Clock;
  readonly events: LockEventBus;
  /** Shown as the holder's label. */
  readonly label: string;
  readonly defaults: LockOptions;
  readonly lives: StoreLives;
  readonly fences: FenceRule;
  /** How many may hold one name at once. @default 1 */
  readonly permits?: number | undefined;
}

/**
 * Takes, keeps and lets go of what one store grants: leases with a watchdog, a line of waiters, the
 * undoing of what may have arrived. Locks, semaphores and pools are faces of it. Names are escaped.
 */
export class GrantEngine {
  readonly defaults: LockOptions;
  readonly owner: Owner;
  readonly desk: LeaseDesk;
  readonly tries: Tries;
  readonly acquirer: Acquirer;

  private readonly clock: Clock;
  private readonly fences: FenceRule;
  private readonly lives: StoreLives;

  /** @throws LockOptionsError for a default TTL that the store cannot count */
  constructor({
    store,
    clock,
    events,
    label,
    defaults,
    lives,
    fences,
    permits = 1,
  }: GrantEngineOptions) {
    checkTtl(defaults.ttlMs, lives);
    this.defaults = defaults;
    this.lives = lives;
    this.clock = clock;
    this.fences = fences;
    this.owner = { process: newProcessId(), label };
    const statistics = new HoldStatistics();
    this.desk = new LeaseDesk(store, clock, events, fences, lives, (name, heldMs) =>
      statistics.record(nameFamily(name), heldMs),
    );
    this.tries = new Tries(store, clock, this.owner, this.desk);
    this.acquirer = new Acquirer(
      store,
      clock,
      events,
      this.owner,
      this.desk,
      this.tries,
      statistics,
      permits,
    );
  }

  /** Waits up to `waitMs`. The caller releases. @throws as `LockManager.acquire` */
  async acquire(name: string, options: AcquireOptions = {}): Promise<HeldLease> {
    if (heldInContext(this, name)) throw new LockReentryError(name);
    return await this.acquirer.take(name, this.resolve(options), options.signal);
  }

  /** The options of one call. @throws LockOptionsError */
  resolve(given: Partial<LockOptions>): LockOptions {
    const options = resolveLockOptions(given, this.defaults);
    checkTtl(options.ttlMs, this.lives);
    return options;
  }

  /** One try: null where it is busy. @throws as `acquire`, but never busy */
  async tryAcquire(
    name: string,
    options: Omit<AcquireOptions, 'waitMs'> = {},
  ): Promise<HeldLease | null> {
    try {
      return await this.acquire(name, { ...options, waitMs: 0 });
    } catch (error) {
      if (error instanceof LockBusyError) return null;
      throw error;
    }
  }

  /** A lease to enter as often as needed, or the one that this async context holds already. */
  async hold(name: string, options: RunOptions = {}): Promise<Hold> {
    const { reentrant = false, ...given } = options;
    const outer = heldInContext(this, name);
    if (outer) return sharedHold([name], [outer], reentrant);
    const lease = await this.acquire(name, given);
    return new Hold(lease, (work) => enterContext(this, lease, work), true);
  }

  /** What the store answers to a look at it, within the time of a command. @throws LockUnavailableError */
  answer<T>(name: string, operation: Promise<T>): Promise<T> {
    return verdictWithin(operation, this.clock, this.defaults.commandTimeoutMs, name);
  }

  /**
   * Takes something that nobody has ever had, and lets it go, to see what fences the store mints. Two
   * commands; none where there is no earlier fence to compare with.
   * @throws LockOptionsError where they are too low; LockUnavailableError
   */
  async checkFences(): Promise<void> {
    if (!this.fences.hasEarlier) return;
    const { commandTimeoutMs } = this.defaults;
    const attempt = this.tries.newAttempt(`fence:${randomUUID()}`, this.defaults);
    try {
      const { reply } = await attempt.send(commandTimeoutMs);
      await attempt.undoOnce(); // waited for: a process that does not start may end at once
      const why = reply.status === 'granted' && this.fences.objection(this.fences.of(reply.fence));
      if (why) throw new LockOptionsError(`Locks cannot be used, as a new one shows: ${why}`);
    } finally {
      this.desk.undo(attempt);
    }
  }

  /** Stops granting, lets holders finish for up to `graceMs`, aborts and releases the rest. Never rejects. */
  async shutdown(graceMs: number): Promise<void> {
    this.acquirer.stop();
    this.tries.stop();
    await this.desk.drain(graceMs, ABORT_GRACE_MS);
  }

  /** Call it after `shutdown`. */
  close(): void {
    this.acquirer.stop();
    this.desk.close();
  }
}

/**
 * Does the work under what `hold` holds, and ends it. The work's own error always wins.
 * @throws LockLostError (with `result`) where the lease was not held to the end
 */
export async function runUnder<T>(hold: Hold, work: (lease: Lease) => T | Promise<T>): Promise<T> {
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
