import type { HeldLease } from './lease.js';
import { LeaseSet } from './lease-set.js';
import { LockLostError, LockReentryError } from './lock.errors.js';

/** A lease in an async context. Made by `LockManager.hold`. */
export class Hold {
  constructor(
    readonly lease: HeldLease | LeaseSet,
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

/**
 * The hold of an inner call that shares what outer calls hold under the same names.
 * @throws LockReentryError where it may not, or where they hold only some of the names; LockLostError
 */
export function sharedHold(
  names: readonly string[],
  outer: readonly (HeldLease | undefined)[],
  reentrant: boolean,
): Hold {
  const leases = outer.filter((lease) => lease !== undefined);
  if (!reentrant || leases.length < names.length) {
    throw new LockReentryError(leases[0]?.name ?? names.join());
  }
  const [first] = leases;
  const shared = first && leases.length === 1 ? first : new LeaseSet(leases);
  shared.assertHeld();
  return new Hold(shared, (work) => work(), false);
}
