import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import type { LockManager } from './lock-manager.js';
import { failure, TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;

beforeEach(() => {
  ({ clock, memory, store, locks } = new TwoEngines());
});

const undone = () => store.asked.filter((operation) => operation === 'release').length;

describe('what may have been left by a try without an answer', () => {
  it('is undone less and less often, as its TTL is long', async () => {
    store.next('tryAcquire', 'lose-request');
    const outcome = failure(locks.acquire('doc:1', { ttlMs: 600_000 }));
    await clock.advance(1_000);
    await outcome;
    await clock.advance(60_000);
    expect(undone()).toBeLessThan(16);
    await clock.advance(540_000);
    expect(undone()).toBeLessThan(40);
    expect(clock.timerCount).toBe(0);
  });

  it('is undone at the same moments as what others left before', async () => {
    const at = new Set<number>();
    const release = store.release;
    store.release = (...args) => {
      at.add(clock.now().monoMs);
      return release(...args);
    };
    store.always('tryAcquire', 'lose-request');
    const outcomes = [];
    for (let n = 0; n < 50; n += 1) {
      outcomes.push(failure(locks.acquire(`doc:${n}`, { ttlMs: 600_000 })));
      await clock.advance(61);
    }
    await clock.advance(60_000);
    await Promise.all(outcomes);
    at.clear();
    await clock.advance(400_000);
    expect(at.size).toBeLessThan(30);
  });

  it('is undone as soon as the answer comes, and not at the next pause', async () => {
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.acquire('doc:1', { ttlMs: 600_000 }));
    await clock.advance(100_000);
    await outcome;
    store.deliver();
    await clock.advance(1);
    expect(await memory.inspect('doc:1')).toBeNull();
    expect(clock.timerCount).toBe(0);
  });

  it('needs nothing more when the answer says that the lock was busy', async () => {
    await memory.tryAcquire('doc:1', 'other', 600_000);
    store.next('tryAcquire', 'delay-request');
    const outcome = failure(locks.acquire('doc:1', { ttlMs: 600_000 }));
    await clock.advance(100_000);
    await outcome;
    const before = undone();
    store.deliver();
    await clock.advance(600_000);
    expect(undone()).toBe(before);
  });

  it('keeps a shutdown for one look, where no answer can come any more', async () => {
    store.next('tryAcquire', 'lose-request');
    const lost = failure(locks.acquire('doc:1'));
    await clock.advance(1_000);
    await lost;
    let isDown = false;
    const down = locks.shutdown(0).then(() => (isDown = true));
    await settle();
    expect(isDown).toBe(false); // the command is still under way
    await clock.advance(1_000);
    await down;
    expect(isDown).toBe(true);
  });
});
