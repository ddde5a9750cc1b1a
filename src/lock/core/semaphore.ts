import type { FenceRule } from './fence-rule.js';
import {
  type AcquireOptions,
  type GrantEngine,
  type RunOptions,
  runUnder,
} from './grant-engine.js';
import type { Lease } from './lease.js';
import type { PermitStore } from './lock-store.js';
import { type Owner, parseToken } from './owner-token.js';

/** Somebody who holds a permit; never his token. */
export interface SemaphoreHolder {
  readonly holder: Owner | null;
  readonly fence: bigint;
  /** In ms, if nothing renews it. */
  readonly remainingMs: number;
}

/**
 * Up to `permits` leases under one name at once: same options, same lease, same watchdog, same line
 * of waiters as a lock. Made by `LockManager.semaphore`. At most `permits` holders work while what is
 * promised of locks holds; the store keeps who holds what under two keys, and the loss of either one
 * costs nothing. A fence is greater than that of every earlier grant, so it is an order, not a right:
 * up to `permits` of them are valid at once.
 */
export class Semaphore {
  constructor(
    /** The escaped name. */
    readonly name: string,
    readonly permits: number,
    private readonly engine: GrantEngine,
    private readonly store: PermitStore,
    private readonly fences: FenceRule,
  ) {}

  /**
   * Takes a permit, waiting up to `waitMs`. The caller releases it. One round trip unless it waits.
   * @throws as `LockManager.acquire`
   */
  acquire(options?: AcquireOptions): Promise<Lease> {
    return this.engine.acquire(this.name, options);
  }

  /** One try: a lease, or null where all permits are taken. @throws as `acquire`, but never busy */
  tryAcquire(options?: Omit<AcquireOptions, 'waitMs'>): Promise<Lease | null> {
    return this.engine.tryAcquire(this.name, options);
  }

  /**
   * Takes a permit, does the work, releases. A call within it that takes a permit of the same
   * semaphore fails (two of them could wait for each other for ever), or shares it: `reentrant`.
   * @throws as `LockManager.run`
   */
  run<T>(work: (lease: Lease) => T | Promise<T>): Promise<T>;
  run<T>(options: RunOptions, work: (lease: Lease) => T | Promise<T>): Promise<T>;
  async run<T>(
    ...rest:
      | [work: (lease: Lease) => T | Promise<T>]
      | [options: RunOptions, work: (lease: Lease) => T | Promise<T>]
  ): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    return runUnder(await this.engine.hold(this.name, options), work);
  }

  /** Who holds permits, those that end first first. One round trip. @throws LockUnavailableError */
  async holders(): Promise<readonly SemaphoreHolder[]> {
    const held = await this.engine.answer(this.name, this.store.holders(this.name));
    return held.map(({ token, fence, remainingMs }) => ({
      holder: parseToken(token),
      fence: this.fences.of(fence),
      remainingMs,
    }));
  }
}
