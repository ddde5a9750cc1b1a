import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock, settle } from '../testing/manual-clock.js';
import type { FenceOptions } from './fence-rule.js';
import { LockManager } from './lock-manager.js';
import { LockOptionsError, LockUnavailableError } from './lock.errors.js';
import type { StoreCapabilities } from './lock-store.js';
import { failure } from './two-engines.spec-support.js';

const HOUR_OF_FENCES = 3_600_000_000n;
const DAY_OF_FENCES = 24n * HOUR_OF_FENCES;

/** A store whose fences rise with what it has kept, and not with a clock, as revisions do. */
class CountingStore extends FaultyStore {
  override readonly capabilities: StoreCapabilities;

  constructor(inner: MemoryLockStore) {
    super(inner);
    this.capabilities = { ...inner.capabilities, fencesSurviveLoss: false };
  }
}

function setUp(options: FenceOptions, Store: typeof FaultyStore = FaultyStore) {
  const clock = new ManualClock();
  const memory = new MemoryLockStore(clock);
  const store = new Store(memory);
  const locks = new LockManager({ store, clock, instanceId: 'tests', ...options });
  return { clock, memory, store, locks, nowFence: BigInt(clock.now().wallMs) * 1_000n };
}

describe('a fence base', () => {
  it('needs a highest fence that is one', () => {
    expect(() => setUp({ highestFence: 9e18 as unknown as bigint })).toThrow(LockOptionsError);
  });

  it('is in every fence that anybody is shown, and in none that the store keeps', async () => {
    const base = 10n ** 15n;
    const { memory, locks } = setUp({ fenceBase: base });
    const heard: bigint[] = [];
    locks.events.on('granted', ({ fence }) => heard.push(fence));
    locks.events.on('released', ({ fence }) => heard.push(fence));

    const lease = await locks.acquire('doc:1');
    const stored = (await memory.inspect('doc:1'))?.fence ?? 0n;
    expect(lease.fence).toBe(base + stored);
    expect(await locks.inspect('doc:1')).toMatchObject({ fence: lease.fence });
    for await (const state of locks.list()) expect(state.fence).toBe(lease.fence);
    await lease.release();
    expect(heard).toEqual([lease.fence, lease.fence]);

    const set = await locks.acquireAll(['doc:2', 'doc:3']);
    expect(set.fenceOf('doc:3')).toBe(base + ((await memory.inspect('doc:3'))?.fence ?? 0n));

    const semaphore = locks.semaphore('api', 2);
    const permit = await semaphore.acquire();
    const [held] = await memory.semaphores(2).holders('api');
    expect(permit.fence).toBe(base + (held?.fence ?? 0n));
    expect(await semaphore.holders()).toMatchObject([{ fence: permit.fence }]);
  });

  it('leaves a holder without a fence without one', async () => {
    const { memory, locks } = setUp({ fenceBase: 7 });
    await memory.tryAcquire('doc:1', 'a-foreign-token', 30_000);
    memory.inspect = async () => ({
      token: 'a-foreign-token',
      fence: undefined,
      remainingMs: 1,
      heldForMs: 1,
      queued: 0,
      revoked: false,
    });
    expect(await locks.inspect('doc:1')).toMatchObject({ holder: null, fence: undefined });
  });

  it.each([-1, 0.5, NaN, 2 ** 53, -1n, 2n ** 52n + 1n, '5', null])('cannot be %p', (fenceBase) => {
    expect(() => setUp({ fenceBase: fenceBase as never })).toThrow(LockOptionsError);
    expect(() => setUp({ fenceBase: fenceBase as never })).toThrow(/from 0 to 4503599627370496/);
  });

  it.each([0, 0n, 2 ** 52, 2n ** 52n])('can be %p', async (fenceBase) => {
    const { locks, nowFence } = setUp({ fenceBase });
    expect((await locks.acquire('doc:1')).fence).toBe(BigInt(fenceBase) + nowFence);
  });
});

describe('a store that mints below what the data hold', () => {
  it('grants nothing, leaves no lock, and says by how much to raise its fences', async () => {
    const highestFence = setUp({}).nowFence + HOUR_OF_FENCES;
    const { memory, locks } = setUp({ highestFence }, CountingStore);
    const error = await failure<LockUnavailableError>(locks.acquire('doc:1'));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error.message).toContain(`the data hold ${highestFence}`);
    await expect(locks.acquireAll(['doc:2', 'doc:3'])).rejects.toThrow(LockUnavailableError);
    await expect(locks.semaphore('api', 2).acquire()).rejects.toThrow(LockUnavailableError);
    await settle();
    for await (const page of memory.list()) expect(page).toEqual([]);
    expect(await memory.semaphores(2).holders('api')).toEqual([]);

    const base = BigInt(/fenceBase \(LOCK_FENCE_BASE\) to (\d+)/.exec(error.message)?.[1] ?? '');
    const raised = setUp({ highestFence, fenceBase: base }, CountingStore).locks;
    expect((await raised.acquire('doc:1')).fence).toBe(highestFence + 1n);
    const short = setUp({ highestFence, fenceBase: base - 1n }, CountingStore).locks;
    await expect(short.acquire('doc:1')).rejects.toThrow(`to ${base}.`);
  });

  it('is in trouble, for a waiter too: it goes on until its time is over', async () => {
    const { clock, locks, store } = setUp({ highestFence: 2n ** 60n }, CountingStore);
    const waiting = failure(locks.acquire('doc:1', { waitMs: 5_000 }));
    await clock.advance(5_100);
    expect(await waiting).toBeInstanceOf(LockUnavailableError);
    expect(store.asked.filter((operation) => operation === 'tryAcquire').length).toBeGreaterThan(2);
  });

  it('is refused by a check, which leaves no lock', async () => {
    const { memory, locks } = setUp({ highestFence: 2n ** 60n }, CountingStore);
    const error = await failure(locks.check());
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error.message).toMatch(/changed to "memory", or has lost its data.*set fenceBase/);
    await settle();
    for await (const page of memory.list()) expect(page).toEqual([]);
  });

  it('may be behind by a day where fences are a clock’s time, since that heals by itself', async () => {
    const { nowFence } = setUp({});
    const near = setUp({ highestFence: nowFence + DAY_OF_FENCES });
    expect(await near.locks.check()).toEqual([]);
    (await near.locks.acquire('doc:1')).assertHeld();

    const far = setUp({ highestFence: nowFence + DAY_OF_FENCES + HOUR_OF_FENCES });
    await expect(far.locks.check()).rejects.toThrow(/clock is 90000 s behind.*Set the clock right/);
    await expect(far.locks.acquire('doc:1')).rejects.toThrow(LockUnavailableError);
    await far.clock.advance(3_600_000);
    expect(await far.locks.check()).toEqual([]);
    (await far.locks.acquire('doc:1')).assertHeld();
  });
});

describe('a check of the fences', () => {
  it('finds nothing wrong with a store that mints above them, and leaves no lock', async () => {
    const { memory, locks, nowFence } = setUp({ highestFence: 5n }, CountingStore);
    expect(nowFence).toBeGreaterThan(5n);
    expect(await locks.check()).toEqual([]);
    await settle();
    for await (const page of memory.list()) expect(page).toEqual([]);
  });

  it('takes no lock where no fence is known', async () => {
    for (const options of [{}, { highestFence: 0n }]) {
      const { locks, store } = setUp(options, CountingStore);
      expect(await locks.check()).toEqual([]);
      expect(store.asked).toEqual([]);
    }
  });

  it('is no verdict where the store does not answer, and undoes what may arrive', async () => {
    const { clock, locks, memory, store } = setUp({ highestFence: 5n }, CountingStore);
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.check());
    await clock.advance(1_000);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
    store.deliver();
    await clock.advance(5_000);
    for await (const page of memory.list()) expect(page).toEqual([]);
  });
});
