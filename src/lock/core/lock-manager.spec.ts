import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock, settle } from '../testing/manual-clock.js';
import { currentLease } from './lock-context.js';
import type { Lease } from './lease.js';
import { LockManager } from './lock-manager.js';
import {
  LockBusyError,
  LockLostError,
  LockOptionsError,
  LockReentryError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from './lock.errors.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;
/** A second process on the same store. */
let others: LockManager;

beforeEach(() => {
  clock = new ManualClock();
  memory = new MemoryLockStore(clock);
  store = new FaultyStore(memory);
  locks = new LockManager({ store, clock, instanceId: 'a' });
  others = new LockManager({ store: memory, clock, instanceId: 'b' });
});

/** The error of a promise that must reject. */
async function failure<T extends Error>(promise: Promise<unknown>): Promise<T> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: T) => error,
  );
}

function pending(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

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

  it('answers within commandTimeoutMs when the store does not, and leaves no key', async () => {
    store.next('tryAcquire', 'lose-reply');
    const outcome = failure(locks.acquire('doc:1'));
    await clock.advance(1_000);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
    await settle();
    expect(await memory.inspect('doc:1')).toBeNull();
    expect(await others.tryAcquire('doc:1')).not.toBeNull();
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

  it.each([
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
  ])('refuses %j before the store is asked', async (options, message) => {
    const error = await failure(locks.acquire('doc:1', options));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error.message).toMatch(message);
    expect(store.asked).toEqual([]);
  });

  it('takes 2^31-1 and an infinite maxHoldMs', async () => {
    const lease = await locks.acquire('doc:1', { waitMs: 2 ** 31 - 1, maxHoldMs: Infinity });
    lease.assertHeld();
    await lease.release();
  });
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
    expect(store.asked.filter((operation) => operation === 'renew')).toHaveLength(60);
    expect(await others.tryAcquire('doc:1')).toBeNull();
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
    expect(fields[1]).toBe(end + 1_000);
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

describe('run', () => {
  it('returns the result and holds the lock during the work only', async () => {
    const result = await locks.run('doc:1', async (lease) => {
      expect(await others.tryAcquire('doc:1')).toBeNull();
      expect(currentLease()).toBe(lease);
      return 42;
    });
    expect(result).toBe(42);
    expect(currentLease()).toBeUndefined();
    expect(await others.tryAcquire('doc:1')).not.toBeNull();
  });

  it('lets the error of the work win, whatever becomes of the release', async () => {
    store.always('release', 'refuse');
    const boom = new Error('boom');
    await expect(locks.run('doc:1', () => Promise.reject(boom))).rejects.toBe(boom);
    await expect(
      locks.run('doc:2', () => {
        throw boom; // synchronously
      }),
    ).rejects.toBe(boom);
  });

  it('returns the result although the release had no answer', async () => {
    store.next('release', 'lose-reply');
    const running = locks.run('doc:1', () => 'done');
    await clock.advance(1_000);
    expect(await running).toBe('done');
  });

  it('tells a loss during the work, with the result', async () => {
    store.always('renew', 'lose-request');
    const work = pending();
    const running = failure<LockLostError>(
      locks.run('doc:1', { ttlMs: 1_000 }, async (lease) => {
        await work.promise;
        return lease.signal.reason as unknown;
      }),
    );
    await clock.advance(1_500);
    work.resolve();
    const error = await running;
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'EXPIRED' });
    expect(error.result).toMatchObject({ reason: 'EXPIRED' });
  });

  it('tells a loss that only the release finds', async () => {
    const error = await failure<LockLostError>(
      locks.run('doc:1', async () => {
        const { token = '' } = (await memory.inspect('doc:1')) ?? {};
        await memory.release('doc:1', token);
        return 'result';
      }),
    );
    expect(error).toMatchObject({ reason: 'NOT_OWNER', result: 'result' });
  });

  it('survives an observer that throws', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    locks.events.on('released', () => {
      throw new Error('observer');
    });
    expect(await locks.run('doc:1', () => 1)).toBe(1);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]?.[0]).toContain('observer');
    warn.mockRestore();
    expect(await memory.inspect('doc:1')).toBeNull();
  });
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

describe('waiting', () => {
  it('is served in order within a process, each with its own fence', async () => {
    const held = await others.acquire('doc:1');
    const order: number[] = [];
    const fences: bigint[] = [];
    const all = [1, 2, 3].map((n) =>
      locks.run('doc:1', { waitMs: 60_000 }, (lease) => {
        order.push(n);
        fences.push(lease.fence);
      }),
    );
    await clock.advance(10);
    await held.release();
    await Promise.all(all);
    expect(order).toEqual([1, 2, 3]);
    expect(fences.every((fence, index) => index === 0 || fence > (fences[index - 1] ?? 0n))).toBe(
      true,
    );
    await clock.advance(10_000);
    expect(clock.timerCount).toBe(0);
  });

  it('asks the store less than once in two seconds, however many wait', async () => {
    await others.acquire('doc:1');
    const all = Array.from({ length: 10 }, () =>
      failure(locks.acquire('doc:1', { waitMs: 30_000 })),
    );
    await clock.advance(29_000);
    expect(store.asked.length).toBeLessThanOrEqual(15);
    await clock.advance(1_000);
    for (const error of await Promise.all(all)) expect(error).toBeInstanceOf(LockWaitTimeoutError);
    expect(clock.timerCount).toBe(1); // the holder's watchdog
  });

  it('takes over when a dead holder expires, without any hint', async () => {
    await memory.tryAcquire('doc:1', 'dead', 5_000);
    const taking = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(5_050);
    (await taking).assertHeld();
  });

  it('is not overtaken by a newcomer with one try', async () => {
    const held = await others.acquire('doc:1');
    const waiting = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(10);
    expect(await locks.tryAcquire('doc:1')).toBeNull();
    await held.release();
    (await waiting).assertHeld();
  });

  it('is served in the order in which processes came, one turn each', async () => {
    const third = new LockManager({ store: memory, clock, instanceId: 'c' });
    const held = await others.acquire('doc:1');
    const order: string[] = [];
    const wait = (manager: LockManager, label: string) =>
      manager.run('doc:1', { waitMs: 60_000 }, () => void order.push(label));
    const all = [wait(locks, 'a1'), wait(locks, 'a2')];
    await clock.advance(1);
    all.push(wait(third, 'c1'), wait(third, 'c2'));
    await clock.advance(1);
    await held.release();
    await clock.advance(100);
    await Promise.all(all);
    expect(order).toEqual(['a1', 'c1', 'a2', 'c2']);
  });

  it('stalls for no longer than the safety timer although every wake-up is lost', async () => {
    store.deaf = true;
    const held = await others.acquire('doc:1');
    const taking = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(100);
    await held.release();
    await clock.advance(3_020);
    (await taking).assertHeld();
  });

  it('does not wait for a process that died at the head of the line', async () => {
    const held = await others.acquire('doc:1');
    await memory.tryAcquire('doc:1', 'dead', 30_000, { process: 'dead', ticket: undefined });
    const taking = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(10);
    await held.release();
    await clock.advance(320); // the dead one's turn, and not a safety timer
    (await taking).assertHeld();
  });

  it('gives its place up when the last waiter of a process leaves', async () => {
    const held = await others.acquire('doc:1');
    const outcome = failure(locks.acquire('doc:1', { waitMs: 500 }));
    await clock.advance(510);
    expect(await outcome).toBeInstanceOf(LockWaitTimeoutError);
    await held.release();
    // Nobody stands in line any more: a newcomer is served at once.
    expect(await others.tryAcquire('doc:1')).not.toBeNull();
  });

  it('leaves no place behind when aborted during its first try', async () => {
    await others.acquire('doc:1');
    const gone = new AbortController();
    const outcome = failure(locks.acquire('doc:1', { waitMs: 60_000, signal: gone.signal }));
    gone.abort(new Error('left')); // the try has reached the store, its answer has not come back
    expect((await outcome).message).toBe('left');
    await settle();
    expect(await others.inspect('doc:1')).toMatchObject({ queued: 0 });
  });

  it('leaves no place behind when those behind the head go with it, before they had a try', async () => {
    await others.acquire('doc:1');
    const gone = new AbortController();
    const wait = () => failure(locks.acquire('doc:1', { waitMs: 60_000, signal: gone.signal }));
    const all = [wait(), wait(), wait()];
    await clock.advance(10);
    gone.abort(new Error('left'));
    await Promise.all(all);
    await settle();
    expect(await others.inspect('doc:1')).toMatchObject({ queued: 0 });
  });

  it('leaves no trace when aborted, and the next one moves up', async () => {
    const held = await others.acquire('doc:1');
    const gone = new AbortController();
    const first = failure(locks.acquire('doc:1', { waitMs: 60_000, signal: gone.signal }));
    const second = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(10);
    gone.abort(new Error('left'));
    expect((await first).message).toBe('left');
    await held.release();
    (await second).assertHeld();
  });

  it('rides out trouble of the store until waitMs, then says unavailable', async () => {
    store.always('tryAcquire', 'refuse');
    const rescued = locks.acquire('doc:1', { waitMs: 10_000 });
    await clock.advance(4_000);
    store.heal();
    await clock.advance(1_100);
    await (await rescued).release();

    store.always('tryAcquire', 'refuse');
    const hopeless = failure(locks.acquire('doc:1', { waitMs: 10_000 }));
    await clock.advance(10_000);
    expect(await hopeless).toBeInstanceOf(LockUnavailableError);
  });

  it('says busy, not unavailable, when only its own time ran out during the last try', async () => {
    await others.acquire('doc:1', { ttlMs: 86_400_000 });
    const outcome = failure(locks.acquire('doc:1', { waitMs: 3_020 }));
    await clock.advance(10);
    store.always('tryAcquire', 'lose-request');
    await clock.advance(3_010);
    expect(await outcome).toBeInstanceOf(LockWaitTimeoutError);
  });

  it('gives back a grant whose reply came after its try was given up, and before the wait was over', async () => {
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.acquire('doc:1', { waitMs: 1_020 }));
    await clock.advance(1_010);
    store.deliver();
    await settle();
    expect(await memory.inspect('doc:1')).not.toBeNull();
    await clock.advance(10);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('does not stand in its own way where its grant was revoked before it was answered', async () => {
    store.next('tryAcquire', 'delay-request');
    const taking = locks.acquire('doc:1', { waitMs: 5_000 });
    await clock.advance(1_010);
    store.deliver();
    await settle();
    expect(await others.revoke('doc:1')).toBe('revoked');
    await clock.advance(3_900);
    const lease = await taking;
    expect(await memory.inspect('doc:1')).toMatchObject({ fence: lease.fence, revoked: false });
  });

  it('sends its first try even when waitMs is shorter than a round trip', async () => {
    store.next('tryAcquire', 'delay-request');
    const taking = locks.acquire('doc:1', { waitMs: 1 });
    await clock.advance(50);
    store.deliver();
    (await taking).assertHeld();
  });
});

describe('shutdown', () => {
  it('refuses newcomers and waiters, and lets holders finish', async () => {
    const work = pending();
    const running = locks.run('doc:1', () => work.promise);
    const waiter = failure(locks.acquire('doc:1', { waitMs: 60_000 }));
    await clock.advance(1);
    const down = locks.shutdown(10_000);
    expect(await waiter).toBeInstanceOf(LockUnavailableError);
    expect(await failure(locks.acquire('doc:2'))).toBeInstanceOf(LockUnavailableError);
    work.resolve();
    await running;
    await down;
    expect(await memory.inspect('doc:1')).toBeNull();
    expect(clock.timerCount).toBe(0);
  });

  it('aborts what does not finish within the grace, and releases its lock', async () => {
    const running = failure<LockLostError>(
      locks.run(
        'doc:1',
        (lease) =>
          new Promise<void>((resolve) => {
            lease.signal.addEventListener('abort', () => resolve());
          }),
      ),
    );
    await clock.advance(1);
    const down = locks.shutdown(5_000);
    await clock.advance(5_000);
    await down;
    expect(await running).toMatchObject({ reason: 'SHUTDOWN' });
    expect(await memory.inspect('doc:1')).toBeNull();
  });

  it('releases the locks of work that ignores the abort', async () => {
    void locks.run('doc:1', () => new Promise<void>(() => undefined));
    await clock.advance(1);
    const down = locks.shutdown(5_000);
    await clock.advance(6_000);
    await down;
    expect(await memory.inspect('doc:1')).toBeNull();
  });
});

describe('inspect', () => {
  it('shows the holder, never its token', async () => {
    const lease = await locks.acquire('doc:1');
    const state = await others.inspect('doc:1');
    expect(state).toEqual({
      name: 'doc:1',
      holder: { process: expect.any(String), label: 'a' },
      remainingMs: 30_000,
      heldForMs: 0,
      fence: lease.fence,
      queued: 0,
      revoked: false,
    });
    expect(await others.inspect('doc:2')).toBeNull();
  });

  it('is unavailable within commandTimeoutMs when the store does not answer', async () => {
    store.always('inspect', 'lose-request');
    const outcome = failure(locks.inspect('doc:1'));
    await clock.advance(1_000);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
  });
});
