import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import { LockManager } from './lock-manager.js';
import { LockUnavailableError, LockWaitTimeoutError } from './lock.errors.js';
import { failure, TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;
let others: LockManager;

beforeEach(() => {
  ({ clock, memory, store, locks, others } = new TwoEngines());
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

  it('leaves no place, though its last try reaches the store after it has gone', async () => {
    await others.acquire('doc:1');
    const caller = new AbortController();
    store.next('tryAcquire', 'delay-request');
    const waiting = failure(locks.acquire('doc:1', { waitMs: 60_000, signal: caller.signal }));
    await settle();
    caller.abort(new Error('gone'));
    expect(await waiting).toMatchObject({ message: 'gone' });
    store.deliver();
    await settle();
    expect(await memory.inspect('doc:1')).toMatchObject({ queued: 0 });
  });

  it('keeps the place of those who came since, though a try of one who has gone arrives late', async () => {
    await others.acquire('doc:1');
    const caller = new AbortController();
    store.next('tryAcquire', 'delay-request');
    const first = failure(locks.acquire('doc:1', { waitMs: 60_000, signal: caller.signal }));
    await settle();
    caller.abort(new Error('gone'));
    await first;
    const second = failure(locks.acquire('doc:1', { waitMs: 5_000 }));
    await settle();
    store.deliver();
    await settle();
    expect(await memory.inspect('doc:1')).toMatchObject({ queued: 1 });
    await clock.advance(5_000);
    await second;
    expect(await memory.inspect('doc:1')).toMatchObject({ queued: 0 });
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

  it('is served in the order of arrival, whichever process a waiter is of', async () => {
    const third = new LockManager({ store: memory, clock, instanceId: 'c' });
    const held = await others.acquire('doc:1');
    const order: string[] = [];
    const all: Promise<void>[] = [];
    for (const label of ['a1', 'a2', 'a3', 'c1', 'a4', 'c2', 'c3', 'a5']) {
      const manager = label.startsWith('a') ? locks : third;
      all.push(manager.run('doc:1', { waitMs: 60_000 }, () => void order.push(label)));
      await clock.advance(1);
    }
    await held.release();
    await clock.advance(100);
    await Promise.all(all);
    expect(order).toEqual(['a1', 'a2', 'a3', 'c1', 'a4', 'c2', 'c3', 'a5']);
  });

  it('keeps the order of arrival when those in front give up, and passes the place on', async () => {
    const third = new LockManager({ store: memory, clock, instanceId: 'c' });
    const held = await others.acquire('doc:1');
    const order: string[] = [];
    const gone = new AbortController();
    const all: Promise<unknown>[] = [];
    for (const label of ['a1', 'c1', 'a2', 'c2', 'a3']) {
      const manager = label.startsWith('a') ? locks : third;
      const signal = label === 'a1' || label === 'a2' ? gone.signal : undefined;
      const work = () => void order.push(label);
      all.push(manager.run('doc:1', { waitMs: 60_000, signal }, work).catch(() => undefined));
      await clock.advance(1);
    }
    gone.abort(new Error('left'));
    await clock.advance(1);
    await held.release();
    await clock.advance(100);
    await Promise.all(all);
    expect(order).toEqual(['c1', 'c2', 'a3']);
    expect(await memory.tryAcquire('doc:1', 'anybody', 5_000)).toMatchObject({ status: 'granted' });
  });

  it('costs two commands a hand-over while others of the process are behind', async () => {
    const held = await others.acquire('doc:1');
    const all = Array.from({ length: 20 }, () =>
      locks.run('doc:1', { waitMs: 60_000 }, () => undefined),
    );
    await clock.advance(10);
    store.asked.length = 0;
    await held.release();
    await clock.advance(100);
    await Promise.all(all);
    expect(store.asked.length).toBe(2 * 20);
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
