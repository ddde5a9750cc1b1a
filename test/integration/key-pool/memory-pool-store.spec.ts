import { describe, it } from '@jest/globals';
import { ManualClock } from '../../../src/lock/testing/manual-clock.js';
import { semaphoreContract } from '../../../src/lock/testing/semaphore-contract.js';
import { poolStoreContract } from '../../../src/key-pool/testing/pool-store-contract.js';
import {
  MemoryPools,
  MemoryPoolStore,
} from '../../../src/key-pool/stores/memory/memory-pool-store.js';

describe('MemoryPoolStore', () => {
  it.each(poolStoreContract)('$promise', async ({ needsClock, verify }) => {
    const clock = new ManualClock();
    const pools = new MemoryPools();
    await verify({
      store: (terms) => new MemoryPoolStore(terms, needsClock ? clock : undefined, pools),
      advance: needsClock ? (ms) => clock.advance(ms) : undefined,
    });
  });

  it.each(semaphoreContract)('with one member, as a semaphore: $promise', async ({ verify }) => {
    const clock = new ManualClock();
    const pools = new MemoryPools();
    await verify({
      semaphores: (concurrency) =>
        new MemoryPoolStore({ members: ['a'], concurrency }, clock, pools),
      elapse: (ms) => clock.advance(ms),
    });
  });

  // With other members, another pool: there is nothing to count against.
  const sameMembers = semaphoreContract.filter(
    ({ promise }) => promise !== 'counts every holder against its own number of permits',
  );
  it.each(sameMembers)('with many members, as a semaphore: $promise', async ({ verify }) => {
    const clock = new ManualClock();
    const pools = new MemoryPools();
    await verify({
      semaphores: (permits) => {
        const members = Array.from({ length: permits }, (_, index) => `m${index}`);
        return new MemoryPoolStore({ members, concurrency: 1 }, clock, pools);
      },
      elapse: (ms) => clock.advance(ms),
    });
  });
});
