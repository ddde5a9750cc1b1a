import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FaultyStore } from '../testing/faulty-store.js';
import type { ManualClock } from '../testing/manual-clock.js';
import { currentLease } from './lock-context.js';
import { HeldLease, type Lease } from './lease.js';
import type { LockManager } from './lock-manager.js';
import { LockBusyError, LockLostError, LockReentryError } from './lock.errors.js';
import { failure, pending, TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let store: FaultyStore;
let locks: LockManager;
let others: LockManager;

beforeEach(() => {
  ({ clock, store, locks, others } = new TwoEngines());
});

describe('re-entry', () => {
  it('fails at once instead of waiting for itself', async () => {
    await locks.run('doc:1', async () => {
      await expect(locks.run('doc:1', { waitMs: 60_000 }, () => 1)).rejects.toThrow(
        LockReentryError,
      );
      await expect(locks.acquire('doc:1')).rejects.toThrow(LockReentryError);
      await expect(locks.tryAcquire('doc:1')).rejects.toThrow(LockReentryError);
      await locks.run('doc:2', () => undefined);
      await expect(others.run('doc:1', () => 1)).rejects.toThrow(LockBusyError);
    });
  });

  it('shares the outer lease when asked to, and only the outermost releases', async () => {
    await locks.run('doc:1', async (outer) => {
      await locks.run('doc:2', async () => {
        await locks.run('doc:1', { reentrant: true }, (inner) => expect(inner).toBe(outer));
      });
      outer.assertHeld();
    });
    expect(store.asked.filter((operation) => operation === 'release')).toHaveLength(2);
  });

  it('counts as not holding once the outermost call has ended, in detached work too', async () => {
    const go = pending();
    let detached: Promise<Lease> | undefined;
    await locks.run('doc:1', () => {
      detached = go.promise.then(async () => {
        expect(currentLease()).toBeUndefined();
        return locks.acquire('doc:1');
      });
    });
    go.resolve();
    (await detached)?.assertHeld();
  });

  it('looks at no more leases, however many runs began each within the one before', async () => {
    const looks = jest.spyOn(HeldLease.prototype, 'isOpen', 'get');
    const looksAt: number[] = [];
    let ended = Promise.resolve();
    const runOnce = async (run: number) => {
      const before = looks.mock.calls.length;
      const started = pending();
      const done = locks.run(`doc:${run % 2}`, async () => {
        looksAt.push(looks.mock.calls.length - before);
        if (run < 100) ended = started.promise.then(() => runOnce(run + 1));
      });
      if (run % 3 === 0) started.resolve(); // some begin before this one has ended
      await done;
      started.resolve();
    };
    await runOnce(1);
    while (looksAt.length < 100) await ended;
    expect(Math.max(...looksAt.slice(50))).toBeLessThanOrEqual(Math.max(...looksAt.slice(0, 10)));
    looks.mockRestore();
  });

  it('does not share a lease that is lost', async () => {
    store.always('renew', 'lose-request');
    await failure(
      locks.run('doc:1', { ttlMs: 1_000 }, async () => {
        await clock.advance(1_500);
        await expect(locks.run('doc:1', { reentrant: true }, () => 1)).rejects.toThrow(
          LockLostError,
        );
      }),
    );
  });
});
