import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import { currentLease } from './lock-context.js';
import type { Lease } from './lease.js';
import type { LockManager } from './lock-manager.js';
import {
  LockBusyError,
  LockLostError,
  LockOptionsError,
  LockReentryError,
  LockUnavailableError,
} from './lock.errors.js';
import { failure, pending, TwoEngines } from './two-engines.spec-support.js';

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
