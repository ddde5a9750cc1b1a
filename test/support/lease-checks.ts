import type { Lease, LockManager } from '../../src/lock/index.js';
import { eventually } from './eventually.js';

/** How long a server may take to come to itself after a fault, on a slow machine. */
const PATIENCE = { timeoutMs: 30_000 };

/**
 * Waits until the store shows that the lease still has its lock, and then until it says that it is released.
 * That is what a first `release()` says in one word where the store answers in time; one that has to be
 * repeated counts as released even if the lock was gone.
 */
export async function expectHeldAndRelease(locks: LockManager, lease: Lease): Promise<void> {
  await eventually(
    async () => {
      lease.assertHeld();
      return (await locks.inspect(lease.name))?.fence === lease.fence;
    },
    { ...PATIENCE, what: `the store to show the lock ${lease.name} as held by its lease` },
  );
  await eventually(async () => (await lease.release()) === 'released', {
    ...PATIENCE,
    what: `the lock ${lease.name} to be released`,
  });
}

/** What one try is told by a store that has come to itself; troubles before that are passed over. */
export function firstVerdict(locks: LockManager, name: string): Promise<'granted' | 'busy'> {
  return eventually(async () => ((await locks.tryAcquire(name)) === null ? 'busy' : 'granted'), {
    ...PATIENCE,
    what: `a verdict on the lock ${name}`,
  });
}

/** When the lease ends if nothing renews it, on the clock of `performance.now()`. */
export function endOf(lease: Lease): number {
  return performance.now() + lease.remainingMs;
}

/** Waits until a renewal has moved the lease's end beyond `end`, which was its end before. */
export async function untilRenewed(lease: Lease, end: number): Promise<void> {
  await eventually(
    () => {
      lease.assertHeld();
      return endOf(lease) > end + 250; // more than clocks that are read one after the other may differ
    },
    { ...PATIENCE, what: `a renewal of the lock ${lease.name}` },
  );
}
