import { expect } from '@jest/globals';
import type { LockManager } from '../../src/lock/index.js';
import { Child } from './child.js';
import { eventually } from './eventually.js';

/** A process that holds `doc:paused` for a second at a time is stopped for longer, and wakes up. */
export async function expectTakeoverOfPaused(
  locks: LockManager,
  store: { readonly store: string; readonly options: object },
  ending: RegExp,
): Promise<void> {
  const child = Child.start('hold-store-lock.mjs', { ...store, name: 'doc:paused', ttlMs: 1_000 });
  try {
    const [, fence = ''] = (await child.says('held')).split(' ');
    expect(await locks.tryAcquire('doc:paused')).toBeNull();
    child.process.kill('SIGSTOP');
    const lease = await locks.acquire('doc:paused', { waitMs: 20_000 });
    child.process.kill('SIGCONT');
    expect(await child.says('lost')).toMatch(ending);
    expect(lease.fence).toBeGreaterThan(BigInt(fence));
    await lease.release();
  } finally {
    await child.kill();
  }
}

/** Engines of several processes wait for `doc:turn`, which `locks` holds first. */
export async function expectServedInTurn(
  locks: LockManager,
  others: readonly LockManager[],
): Promise<void> {
  const first = await locks.acquire('doc:turn', { ttlMs: 20_000 });
  const served: number[] = [];
  const all = [];
  for (const [index, other] of others.entries()) {
    all.push(
      other.run('doc:turn', { waitMs: 20_000 }, () => {
        served.push(index);
      }),
    );
    await eventually(async () => (await locks.inspect('doc:turn'))?.queued === index + 1);
  }
  const startedAt = performance.now();
  await first.release();
  await Promise.all(all);
  expect(served).toEqual(others.map((_other, index) => index));
  // Three safety timers would take nine seconds.
  expect(performance.now() - startedAt).toBeLessThan(6_000);
}

/** The holder of `doc:told` is told by somebody else’s revocation long before a renewal is due. */
export async function expectToldOfRevocation(
  locks: LockManager,
  other: LockManager,
): Promise<void> {
  const lease = await locks.acquire('doc:told');
  expect(await other.revoke('doc:told')).toBe('revoked');
  await eventually(() => lease.signal.aborted, { timeoutMs: 5_000 });
  expect(lease.signal.reason).toMatchObject({ reason: 'REVOKED' });
  expect(await other.tryAcquire('doc:told')).toBeNull();
  expect(await lease.release()).toBe('released');
  expect(await other.inspect('doc:told')).toBeNull();
}
