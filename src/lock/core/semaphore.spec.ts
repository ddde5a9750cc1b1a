import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock, settle } from '../testing/manual-clock.js';
import type { Lease } from './lease.js';
import { LockManager } from './lock-manager.js';

const TTL_MS = 3_000;

function setUp() {
  const clock = new ManualClock();
  const store = new FaultyStore(new MemoryLockStore(clock));
  const defaults = { ttlMs: TTL_MS, waitMs: 60_000 };
  const locks = new LockManager({ store, clock, defaults, instanceId: 'tests' });
  return { clock, store, locks };
}

describe('a semaphore', () => {
  it('lets as many work at once as it has permits, first come, first served', async () => {
    const { locks } = setUp();
    const semaphore = locks.semaphore('api', 2);
    const order: number[] = [];
    let working = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const works = [0, 1, 2, 3, 4].map((n) =>
      semaphore.run(async () => {
        order.push(n);
        most = Math.max(most, (working += 1));
        await new Promise<void>((resolve) => ends.push(resolve));
        working -= 1;
      }),
    );
    for (let round = 0; round < 5; round += 1) {
      await settle();
      ends.shift()?.();
    }
    await Promise.all(works);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
    expect(await semaphore.holders()).toEqual([]);
  });

  it('gives leases that the watchdog renews, with fences that rise, and a signal', async () => {
    const { clock, locks } = setUp();
    const semaphore = locks.semaphore('api', 2);
    const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
    expect(second.fence).toBeGreaterThan(first.fence);
    for (let step = 0; step < 10; step += 1) await clock.advance(TTL_MS / 2);
    for (const lease of [first, second]) lease.assertHeld();
    expect(await semaphore.holders()).toMatchObject([
      { holder: { label: 'tests' }, fence: first.fence },
      { holder: { label: 'tests' }, fence: second.fence },
    ]);
    expect(await semaphore.tryAcquire()).toBeNull();
    const { signal } = first;
    expect(await first.release()).toBe('released');
    expect(signal.aborted).toBe(true);
    const third = (await semaphore.tryAcquire()) as Lease;
    expect(third.fence).toBeGreaterThan(second.fence);
    await Promise.all([second.release(), third.release()]);
  });

  it('tells its holder when a renewal has no answer in time, and gives the permit to the next', async () => {
    const { clock, store, locks } = setUp();
    const lease = await locks.semaphore('api', 1).acquire();
    store.always('renew', 'lose-request');
    const next = locks.semaphore('api', 1).acquire();
    for (let step = 0; step < 8; step += 1) await clock.advance(TTL_MS / 5);
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'EXPIRED' });
    expect((await next).fence).toBeGreaterThan(lease.fence);
  });

  it('undoes a try whose answer was lost, so that no permit leaks', async () => {
    const { clock, store, locks } = setUp();
    const semaphore = locks.semaphore('api', 1);
    store.next('tryAcquire', 'lose-reply');
    const lost = semaphore.tryAcquire().catch((error: unknown) => error);
    await clock.advance(TTL_MS / 2);
    expect(await lost).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await semaphore.holders()).toEqual([]); // half a TTL before it would have run out
  });

  it('refuses a second permit for the same call, or shares the first one', async () => {
    const { locks } = setUp();
    const semaphore = locks.semaphore('api', 3);
    await semaphore.run(async (outer) => {
      await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'LOCK_REENTRY' });
      await semaphore.run({ reentrant: true }, (inner) => expect(inner.fence).toBe(outer.fence));
      outer.assertHeld();
    });
  });

  it('is apart from the lock of the same name', async () => {
    const { locks } = setUp();
    const lock = await locks.acquire('api');
    const permit = await locks.semaphore('api', 1).acquire();
    expect(await locks.inspect('api')).toMatchObject({ fence: lock.fence });
    await Promise.all([lock.release(), permit.release()]);
  });

  it('ends with its engine: nothing more is granted, holders are told, permits are given back', async () => {
    const { clock, locks } = setUp();
    const semaphore = locks.semaphore('api', 2);
    const { signal } = await semaphore.acquire();
    const waiting = [semaphore.acquire(), semaphore.acquire()];
    const outcomes = Promise.allSettled(waiting);
    await settle();
    const ended = locks.shutdown(0);
    await clock.advance(2_000);
    await ended;
    expect(signal.reason).toMatchObject({ reason: 'SHUTDOWN' });
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(locks.semaphore('api', 5).acquire()).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    expect(await semaphore.holders()).toEqual([]);
    expect(clock.timerCount).toBe(0);
  });

  it.each([0, -1, 1.5, 1_001, Infinity, NaN])('cannot have %s permits', (permits) => {
    expect(() => setUp().locks.semaphore('api', permits)).toThrow(/1 to 1000/);
  });

  it('is refused on a store that has none, by the name of the store', () => {
    const store = new MemoryLockStore();
    Object.assign(store, { kind: 'other', semaphores: undefined });
    const locks = new LockManager({ store });
    expect(() => locks.semaphore('api', 2)).toThrow(/"other" has no semaphores/);
  });
});
