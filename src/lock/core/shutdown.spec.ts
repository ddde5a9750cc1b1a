import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import type { LockManager } from './lock-manager.js';
import { type LockLostError, LockUnavailableError } from './lock.errors.js';
import { failure, pending, TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;

beforeEach(() => {
  ({ clock, memory, store, locks } = new TwoEngines());
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

  it('refuses several locks as it refuses one', async () => {
    await locks.shutdown(0);
    expect(await failure(locks.acquireAll(['doc:1', 'doc:2']))).toBeInstanceOf(
      LockUnavailableError,
    );
    expect(await failure(locks.run(['doc:1', 'doc:2'], () => 1))).toBeInstanceOf(
      LockUnavailableError,
    );
    expect(store.asked).toEqual([]);
  });

  it.each([
    ['one lock', 'tryAcquire', () => locks.acquire('doc:1')],
    ['several locks', 'tryAcquireAll', () => locks.acquireAll(['doc:1', 'doc:2'])],
  ] as const)(
    'waits for a try of %s that is under way, and undoes its grant',
    async (_what, operation, ask) => {
      store.next(operation, 'delay-request');
      const asking = failure(ask());
      await settle();
      let isDown = false;
      const down = locks.shutdown(5_000).then(() => (isDown = true));
      await clock.advance(500);
      expect(isDown).toBe(false);
      store.deliver();
      expect(await asking).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await down;
      expect(await memory.inspect('doc:1')).toBeNull();
      expect(await memory.inspect('doc:2')).toBeNull();
      expect(clock.timerCount).toBe(0);
    },
  );
});
