import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '../../testing/manual-clock.js';
import { lockStoreContract } from '../../testing/store-contract.js';
import { semaphoreContract } from '../../testing/semaphore-contract.js';
import { MemoryLockStore } from './memory-lock-store.js';

describe('MemoryLockStore', () => {
  it.each(lockStoreContract)('$promise', async ({ verify }) => {
    const clock = new ManualClock();
    await verify({ store: new MemoryLockStore(clock), elapse: (ms) => clock.advance(ms) });
  });

  it.each(semaphoreContract)('with semaphores: $promise', async ({ verify }) => {
    const clock = new ManualClock();
    const store = new MemoryLockStore(clock);
    await verify({
      semaphores: (permits) => store.semaphores(permits),
      elapse: (ms) => clock.advance(ms),
    });
  });

  it('forgets locks, permits and fences that are over, a few with each grant', async () => {
    const clock = new ManualClock();
    const store = new MemoryLockStore(clock);
    const permits = store.semaphores(2);
    for (let n = 0; n < 1_000; n += 1) {
      await store.tryAcquire(`doc:${n}`, 'a', 100);
      await permits.tryAcquire(`api:${n}`, 'a', 100);
    }
    await clock.advance(86_500_000);
    for (let n = 0; n < 600; n += 1) {
      await store.tryAcquire('doc:used', `a${n}`, 100);
      await store.release('doc:used', `a${n}`);
      await permits.tryAcquire('api:used', `a${n}`, 100);
      await permits.release('api:used', `a${n}`, 'process');
    }
    const {
      locks,
      fences,
      permits: kept,
    } = store as unknown as {
      locks: Map<string, unknown>;
      fences: { fences: Map<string, unknown> };
      permits: { holders: Map<string, unknown>; fences: { fences: Map<string, unknown> } };
    };
    expect([...locks.keys(), ...kept.holders.keys()]).toEqual([]);
    expect([...fences.fences.keys(), ...kept.fences.fences.keys()]).toEqual([
      'doc:used',
      'api:used',
    ]);
  });

  it('raises the fence even when the wall clock steps back', async () => {
    const clock = new ManualClock();
    const store = new MemoryLockStore(clock);
    const first = await store.tryAcquire('doc:1', 'a', 1_000);
    await store.release('doc:1', 'a');
    clock.stepWall(-3_600_000);
    const second = await store.tryAcquire('doc:1', 'b', 1_000);
    if (first.status !== 'granted' || second.status !== 'granted') throw new Error('not granted');
    expect(second.fence).toBe(first.fence + 1n);
  });
});
