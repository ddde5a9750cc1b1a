import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import { currentLease } from './lock-context.js';
import type { LockManager } from './lock-manager.js';
import { type LockLostError, LockUnavailableError } from './lock.errors.js';
import { failure, pending, TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;
let others: LockManager;

beforeEach(() => {
  ({ clock, memory, store, locks, others } = new TwoEngines());
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

  it('survives observers that throw, at once or later', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    locks.events.on('released', () => {
      throw new Error('observer');
    });
    const slow = jest.fn().mockImplementation(() => Promise.reject(new Error('slow observer')));
    locks.events.on('released', slow);
    expect(await locks.run('doc:1', () => 1)).toBe(1);
    await settle();
    const warnings = warn.mock.calls.map(([text]) => String(text));
    warn.mockRestore();
    expect(warnings).toEqual([
      expect.stringContaining('Error: observer'),
      expect.stringContaining('Error: slow observer'),
    ]);
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
