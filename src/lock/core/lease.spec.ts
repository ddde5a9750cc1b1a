import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import type { LockManager } from './lock-manager.js';
import { LockBusyError, LockLostError, LockOptionsError } from './lock.errors.js';
import { failure, TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;
let others: LockManager;

beforeEach(() => {
  ({ clock, memory, store, locks, others } = new TwoEngines());
});

describe('a lease', () => {
  it('counts from before the sending of the command that was answered', async () => {
    store.next('tryAcquire', 'delay-request');
    const taking = locks.acquire('doc:1', { ttlMs: 10_000 });
    await clock.advance(900);
    store.deliver();
    const lease = await taking;
    expect(lease.remainingMs).toBe(10_000 - 102 - 900);
  });

  it('is renewed at a third of its TTL for as long as the work takes', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    await clock.advance(60_000);
    lease.assertHeld();
    const renewals = store.asked.filter((operation) => operation === 'renew').length;
    expect(renewals).toBeGreaterThanOrEqual(60);
    expect(renewals).toBeLessThan(66); // up to a thirtieth of the TTL earlier
    expect(await others.tryAcquire('doc:1')).toBeNull();
  });

  it('shares its renewals with leases that were taken at other times, or have another TTL', async () => {
    for (let n = 0; n < 100; n += 1) {
      await locks.acquire(`doc:${n}`, { ttlMs: n % 2 ? 30_000 : 33_000 });
      await clock.advance(97);
    }
    store.asked.length = 0;
    await clock.advance(30_000);
    expect(store.asked.length).toBeLessThanOrEqual(3 * Math.ceil(10_000 / 512 + 1));
  });

  it('is renewed together with all others by one timer and one command', async () => {
    for (let n = 0; n < 90; n += 1) await locks.acquire(`doc:${n}`);
    expect(clock.timerCount).toBe(1);
    await clock.advance(10_000);
    expect(store.asked.filter((operation) => operation === 'renew')).toHaveLength(1);
  });

  it('leaves no timer behind once the watchdog has looked', async () => {
    const leases = [await locks.acquire('doc:1'), await locks.acquire('doc:2')];
    for (const lease of leases) await lease.release();
    await clock.advance(10_000);
    expect(clock.timerCount).toBe(0);
    expect(store.asked).not.toContain('renew');
  });

  it('ends by its local deadline although the store never answers again', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    store.always('renew', 'lose-request');
    await clock.advance(3_000 - 32 - 1);
    expect(lease.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(lease.signal.aborted).toBe(true);
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'EXPIRED' });
    expect(() => lease.assertHeld()).toThrow(LockLostError);
    expect(lease.remainingMs).toBe(0);
  });

  it('survives renewals without a verdict while one of them gets through in time', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    const unknown: unknown[] = [];
    locks.events.on('renewal-unknown', (event) => unknown.push(event));
    store.next('renew', 'lose-request');
    store.next('renew', 'refuse');
    store.next('renew', 'lose-reply');
    await clock.advance(20_000);
    lease.assertHeld();
    expect(unknown).toHaveLength(3);
  });

  it('survives where its renewal was answered in time, and the event loop was too busy to read it', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    store.next('renew', 'delay-reply');
    await clock.advance(1_200);
    clock.block(1_800, () => store.deliver());
    await clock.advance(0);
    lease.assertHeld();
    expect(await others.tryAcquire('doc:1')).toBeNull();
  });

  it('is over at the next assertHeld, whatever answer is still to be read', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    store.next('renew', 'delay-reply');
    await clock.advance(1_200);
    clock.block(1_800, () => store.deliver());
    expect(() => lease.assertHeld()).toThrow(LockLostError);
    await clock.advance(0);
    expect(() => lease.assertHeld()).toThrow(LockLostError);
  });

  it('is lost where no answer to its renewal is there to be read', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    store.next('renew', 'lose-reply');
    await clock.advance(1_200);
    clock.block(1_800);
    await clock.advance(0);
    expect(lease.signal.reason).toMatchObject({ reason: 'EXPIRED' });
  });

  it('survives a store whose renewal throws instead of rejecting, as trouble', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    const renew = jest.spyOn(store, 'renew').mockImplementationOnce(() => {
      throw new Error('a mistake of the store');
    });
    await clock.advance(2_500);
    expect(renew.mock.calls.length).toBeGreaterThan(1);
    lease.assertHeld();
  });

  it('is lost at once when the key belongs to someone else', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    const { token = '' } = (await memory.inspect('doc:1')) ?? {};
    await memory.release('doc:1', token);
    await others.acquire('doc:1');
    await clock.advance(1_000);
    expect(lease.signal.reason).toMatchObject({ reason: 'NOT_OWNER' });
    expect(await lease.release()).toBe('not-held');
    expect(await others.inspect('doc:1')).toMatchObject({ holder: { label: 'b' } });
  });

  it('never takes a vanished key again', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    const { token = '' } = (await memory.inspect('doc:1')) ?? {};
    await memory.release('doc:1', token);
    await clock.advance(1_000);
    expect(lease.signal.aborted).toBe(true);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('tells a blocked process at its next assertHeld, before any timer fires', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    clock.block(3_500);
    expect(() => lease.assertHeld()).toThrow(/ran out/);
  });

  it('counts the time in which the machine was suspended', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    clock.stepWall(3_500);
    expect(() => lease.assertHeld()).toThrow(LockLostError);
  });

  it('is not prolonged by a wall clock that steps back', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    store.always('renew', 'lose-request');
    clock.stepWall(-3_600_000);
    await clock.advance(2_968);
    expect(lease.signal.aborted).toBe(true);
  });

  it('is renewed as before after a wall clock has stepped back', async () => {
    const lease = await locks.acquire('doc:1');
    clock.stepWall(-3_600_000);
    await clock.advance(90_000);
    expect(() => lease.assertHeld()).not.toThrow();
    expect(lease.remainingMs).toBeGreaterThan(15_000);
    expect(await memory.inspect('doc:1')).toMatchObject({ fence: lease.fence });
  });

  it('goes on undoing after a wall clock has stepped ahead', async () => {
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.acquire('doc:1'));
    await clock.advance(1_100);
    await outcome;
    clock.stepWall(3_600_000);
    store.deliver();
    await clock.advance(2_000);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('never outlives maxHoldMs, and its last renewal asks for no more', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000, maxHoldMs: 10_000 });
    await clock.advance(9_999);
    lease.assertHeld();
    const { remainingMs = 0 } = (await memory.inspect('doc:1')) ?? {};
    expect(remainingMs).toBeLessThanOrEqual(1 + 32);
    await clock.advance(1);
    expect(lease.signal.reason).toMatchObject({ reason: 'MAX_HOLD' });
    await clock.advance(100);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('renews everything at once after a reconnection', async () => {
    await locks.acquire('doc:1');
    await locks.acquire('doc:2');
    await clock.advance(100);
    store.reconnect();
    await settle();
    expect(store.asked).toEqual(['tryAcquire', 'tryAcquire', 'renew']);
  });

  it('ignores a renewal that is answered after the release', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    store.next('renew', 'delay-request');
    await clock.advance(1_000);
    await lease.release();
    const next = await others.acquire('doc:1', { ttlMs: 3_000 });
    store.deliver();
    await clock.advance(10_000);
    next.assertHeld();
    expect(lease.signal.reason).toMatchObject({ reason: 'RELEASED' });
    expect(clock.timerCount).toBe(1); // the other process's
  });

  it('extends the TTL that the watchdog renews with, and never shortens the life of the key', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    expect(await lease.extend(60_000)).toBe(true);
    expect(lease.remainingMs).toBe(60_000 - 602);
    expect(await lease.extend(1_000)).toBe(true);
    expect((await memory.inspect('doc:1'))?.remainingMs).toBe(60_000);
    store.next('renew', 'refuse');
    expect(await lease.extend(5_000)).toBe(false);
    await expect(lease.extend(5)).rejects.toThrow(LockOptionsError);
    await lease.release();
    await expect(lease.extend(5_000)).rejects.toThrow(LockLostError);
  });

  it('is disposed of by await using', async () => {
    {
      await using lease = await locks.acquire('doc:1');
      lease.assertHeld();
    }
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('can be checked by worker threads through shared memory', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    const fields = new Float64Array(lease.shared);
    const end = clock.now().wallMs + 3_000 - 32;
    expect(fields[1]).toBe(end);
    await clock.advance(1_000);
    expect(fields[1]).toBe(end + 960); // renewed a little early, together with others
    expect(fields[2]).toBe(0);
    await lease.release();
    expect(fields[2]).toBeGreaterThan(0);
  });
});

describe('release', () => {
  it('is idempotent and rises above a lost reply', async () => {
    const lease = await locks.acquire('doc:1');
    store.next('release', 'lose-reply');
    const first = lease.release();
    await clock.advance(1_000);
    expect(await first).toBe('unknown');
    expect(await lease.release()).toBe('released');
    expect(await lease.release()).toBe('released');
  });

  it('goes on in the background when it had no answer, until the key is gone', async () => {
    const lease = await locks.acquire('doc:1');
    store.always('release', 'lose-request');
    const first = lease.release();
    await clock.advance(1_000);
    expect(await first).toBe('unknown');
    store.heal();
    await clock.advance(2_100);
    expect(await memory.inspect('doc:1')).toBeNull();
    await clock.advance(10_000);
    expect(clock.timerCount).toBe(0);
  });

  it('goes on until the key can live no longer, although the lease was over before', async () => {
    const lease = await locks.acquire('doc:1', { maxHoldMs: 1_500 });
    store.always('release', 'lose-request');
    const outcome = lease.release();
    await clock.advance(5_000); // past maxHoldMs, far from the end of the TTL
    expect(await outcome).toBe('unknown');
    store.heal();
    await clock.advance(2_000);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('leaves no key although an earlier command of the same token arrives after it', async () => {
    store.next('tryAcquire', 'delay-request');
    const taking = locks.acquire('doc:1', { waitMs: 10_000 });
    await clock.advance(1_100); // the first try is given up, the second is granted
    const lease = await taking;
    await lease.release();
    store.deliver();
    await settle();
    await clock.advance(1_000);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('leaves no key although such a command arrives after the key was lost', async () => {
    store.next('tryAcquire', 'delay-request');
    const taking = locks.acquire('doc:1', { waitMs: 10_000 });
    await clock.advance(1_100);
    const lease = await taking;
    const { token } = (await memory.inspect('doc:1'))!;
    await memory.release('doc:1', token);
    await clock.advance(10_000);
    expect(lease.signal.reason).toMatchObject({ reason: 'NOT_OWNER' });
    expect(await lease.release()).toBe('not-held');
    store.deliver();
    await settle();
    await clock.advance(1_000);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('tells the others of a hold in the family how long to stay away', async () => {
    const first = await locks.acquire('doc:1');
    await clock.advance(8_000);
    await first.release();
    await locks.acquire('doc:2');
    await clock.advance(3_000);
    const error = await failure<LockBusyError>(locks.acquire('doc:2'));
    expect(error.retryAfterMs).toBe(5_000);
  });
});
