import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import type { LockManager } from './lock-manager.js';
import { LockBusyError, LockOptionsError, LockUnavailableError } from './lock.errors.js';
import { failure, TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;
let others: LockManager;

beforeEach(() => {
  ({ clock, memory, store, locks, others } = new TwoEngines());
});

describe('one try', () => {
  it('takes a free lock with one command and releases it with one', async () => {
    const lease = await locks.acquire('doc:1');
    expect(lease).toMatchObject({ name: 'doc:1', ttlMs: 30_000 });
    expect(await lease.release()).toBe('released');
    expect(store.asked).toEqual(['tryAcquire', 'release']);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('is told busy at once, with what is known of the holder', async () => {
    await others.acquire('doc:1');
    const error = await failure<LockBusyError>(locks.acquire('doc:1'));
    expect(error).toBeInstanceOf(LockBusyError);
    expect(error.remainingMs).toBe(30_000);
    expect(await locks.tryAcquire('doc:1')).toBeNull();
  });

  it('reports a lock in its way that lives longer than any lock should', async () => {
    const reports: unknown[] = [];
    locks.events.on('overlong', (event) => reports.push(event));
    await others.acquire('doc:1');
    await failure(locks.acquire('doc:1'));
    expect(reports).toEqual([]);
    await others.acquire('doc:2', { ttlMs: 3_660_000 }); // as if its server's clock went back an hour
    await failure(locks.acquire('doc:2'));
    expect(reports).toEqual([{ name: 'doc:2', remainingMs: 3_660_000, ttlMs: 30_000 }]);
  });

  it('answers within commandTimeoutMs when the store does not, and leaves no key', async () => {
    store.next('tryAcquire', 'lose-reply');
    const outcome = failure(locks.acquire('doc:1'));
    await clock.advance(1_000);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
    await settle();
    expect(await memory.inspect('doc:1')).toBeNull();
    expect(await others.tryAcquire('doc:1')).not.toBeNull();
  });

  it('is granted where its answer came in time, and the event loop was too busy to read it', async () => {
    store.next('tryAcquire', 'delay-request');
    const taking = locks.acquire('doc:1');
    await settle();
    clock.block(2_000, () => store.deliver());
    await clock.advance(0);
    expect((await taking).remainingMs).toBe(30_000 - 302 - 2_000);
    expect(clock.timerCount).toBe(1); // nothing is undone
  });

  it('undoes a command that reaches the store long after it was given up', async () => {
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.acquire('doc:1'));
    await clock.advance(5_000);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
    store.deliver();
    await settle();
    expect(await memory.inspect('doc:1')).not.toBeNull();
    await clock.advance(1_000); // one step of the back-off
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('stops undoing when the TTL has passed, and leaves no timer', async () => {
    store.next('tryAcquire', 'lose-request');
    const outcome = failure(locks.acquire('doc:1', { ttlMs: 3_000 }));
    await clock.advance(10_000);
    await outcome;
    const asked = store.asked.length;
    await clock.advance(60_000);
    expect(store.asked.length).toBe(asked);
    expect(clock.timerCount).toBe(0);
  });

  it('asks nothing more of a store that certainly did nothing', async () => {
    store.next('tryAcquire', 'refuse');
    expect(await failure(locks.acquire('doc:1'))).toBeInstanceOf(LockUnavailableError);
    await clock.advance(60_000);
    expect(store.asked).toEqual(['tryAcquire']);
  });

  it('gives back a grant that arrives with less than half of its TTL left', async () => {
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.acquire('doc:1'));
    await settle();
    clock.block(16_000); // the event loop was blocked: no timer could give up earlier
    store.deliver();
    await settle();
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('undoes the command of a caller who has gone', async () => {
    const gone = new AbortController();
    store.next('tryAcquire', 'lose-reply');
    const outcome = failure(locks.acquire('doc:1', { signal: gone.signal }));
    gone.abort(new Error('the client left'));
    expect((await outcome).message).toBe('the client left');
    await settle();
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('undoes a grant whose reply comes in the same moment as the abort', async () => {
    const gone = new AbortController();
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.acquire('doc:1', { signal: gone.signal }));
    await settle();
    store.deliver(); // granted, a few turns of the microtask queue before anybody can see it
    gone.abort(new Error('the client left'));
    expect((await outcome).message).toBe('the client left');
    await settle();
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it.each<[object, RegExp]>([
    [{ ttlMs: 99 }, /ttlMs is 99/],
    [{ ttlMs: 86_400_001 }, /ttlMs/],
    [{ ttlMs: Number.NaN }, /ttlMs is NaN/],
    [{ ttlMs: 1_000.5 }, /ttlMs/],
    [{ ttlMs: Infinity }, /ttlMs/],
    [{ waitMs: -1 }, /waitMs is -1/],
    [{ waitMs: 2 ** 31 }, /waitMs/],
    [{ waitMs: Infinity }, /waitMs/],
    [{ maxHoldMs: 0 }, /maxHoldMs/],
    [{ ttlMs: '30' as unknown as number }, /ttlMs is 30/],
    [{ ttl: 5 }, /"ttl" is no option of a lock; there are ttlMs/],
    [{ waitMs: 1, timeout: 5 }, /"timeout" is no option/],
  ])('refuses %j before the store is asked', async (options, message) => {
    const error = await failure(locks.acquire('doc:1', options));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error.message).toMatch(message);
    expect(store.asked).toEqual([]);
  });

  it('is made beside a waiter of this process that had trouble: that may be over', async () => {
    store.next('tryAcquire', 'refuse');
    const waiting = locks.acquire('doc:1', { waitMs: 10_000 });
    await settle();
    const lease = await locks.tryAcquire('doc:1');
    expect(lease).not.toBeNull();
    await lease?.release();
    await clock.advance(100);
    (await waiting).assertHeld();
  });

  it('takes 2^31-1 and an infinite maxHoldMs', async () => {
    const lease = await locks.acquire('doc:1', { waitMs: 2 ** 31 - 1, maxHoldMs: Infinity });
    lease.assertHeld();
    await lease.release();
  });
});
