import { beforeEach, describe, expect, it } from '@jest/globals';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import { MAX_IN_FLIGHT } from './in-flight-limit.js';
import type { LockManager } from './lock-manager.js';
import { LockUnavailableError } from './lock.errors.js';
import { TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let store: FaultyStore;
let locks: LockManager;

beforeEach(() => {
  ({ clock, store, locks } = new TwoEngines());
});

const askedFor = (operation: string) => store.asked.filter((one) => one === operation).length;

/** So many acquisitions at once, of locks that are free. */
function burst(count: number, signal?: AbortSignal) {
  const outcomes: unknown[] = [];
  const all = Array.from({ length: count }, async (_, n) => {
    try {
      await locks.acquire(`doc:${n}`, { signal });
      outcomes[n] = 'granted';
    } catch (error) {
      outcomes[n] = error;
    }
  });
  return { outcomes, done: Promise.all(all) };
}

describe('a burst of acquisitions', () => {
  it('has no more of them with the store at once than are bounded, and is granted in order', async () => {
    store.always('tryAcquire', 'delay-reply');
    const { outcomes, done } = burst(MAX_IN_FLIGHT + 100);
    await settle();
    expect(askedFor('tryAcquire')).toBe(MAX_IN_FLIGHT);
    store.heal();
    store.deliver();
    await done;
    expect(new Set(outcomes)).toEqual(new Set(['granted']));
    expect(clock.timerCount).toBe(1); // the watchdog's
  });

  it('is no reason for the renewals of leases to wait', async () => {
    const lease = await locks.acquire('doc:held', { ttlMs: 300 });
    store.always('tryAcquire', 'lose-request');
    void burst(3 * MAX_IN_FLIGHT);
    await clock.advance(600);
    expect(askedFor('renew')).toBeGreaterThan(5);
    lease.assertHeld();
  });

  it('is refused one by one where the store is too slow, and nothing has to be undone', async () => {
    store.always('tryAcquire', 'delay-reply');
    const { outcomes, done } = burst(MAX_IN_FLIGHT + 100);
    await clock.advance(800);
    const refused = outcomes.slice(MAX_IN_FLIGHT);
    expect(refused).toHaveLength(100);
    for (const error of refused) {
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ mayHaveRun: false });
    }
    store.deliver();
    await done;
    expect(new Set(outcomes.slice(0, MAX_IN_FLIGHT))).toEqual(new Set(['granted']));
    expect(askedFor('release')).toBe(0);
  });

  it('is granted although the event loop was busy with it for longer than each may wait', async () => {
    store.always('tryAcquire', 'delay-reply');
    const { outcomes, done } = burst(MAX_IN_FLIGHT + 100);
    await settle();
    store.heal();
    clock.block(2_000, () => store.deliver());
    await clock.advance(0);
    await done;
    expect(new Set(outcomes)).toEqual(new Set(['granted']));
  });

  it('ends with its callers: those that have not been sent are never sent', async () => {
    store.always('tryAcquire', 'delay-reply');
    const caller = new AbortController();
    const { outcomes, done } = burst(MAX_IN_FLIGHT + 100, caller.signal);
    await settle();
    const gone = new Error('gone');
    caller.abort(gone);
    await done;
    expect(new Set(outcomes)).toEqual(new Set([gone]));
    expect(askedFor('tryAcquire')).toBe(MAX_IN_FLIGHT);
  });

  it('ends with its engine: those that have not been sent are refused', async () => {
    store.always('tryAcquire', 'delay-reply');
    const { outcomes, done } = burst(MAX_IN_FLIGHT + 100);
    await settle();
    const down = locks.shutdown(0);
    await settle();
    for (const error of outcomes.slice(MAX_IN_FLIGHT)) {
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', mayHaveRun: false });
    }
    store.heal();
    store.deliver();
    await done;
    await down;
    expect(askedFor('tryAcquire')).toBe(MAX_IN_FLIGHT);
  });
});
