import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import { currentLease } from './lock-context.js';
import { LockManager } from './lock-manager.js';
import {
  LockBusyError,
  LockOptionsError,
  LockReentryError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from './lock.errors.js';
import { TwoEngines } from './two-engines.spec-support.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;
let others: LockManager;

beforeEach(() => {
  ({ clock, memory, store, locks, others } = new TwoEngines());
});

async function heldNames(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of others.list()) names.push(name);
  return names.sort();
}

describe('several locks at once', () => {
  it('are taken with one command and have a fence each', async () => {
    const set = await locks.acquireAll(['doc:2', 'doc:1', 'doc:2']);
    expect(store.asked).toEqual(['tryAcquireAll']);
    expect(set.leases.map(({ name }) => name)).toEqual(['doc:1', 'doc:2']);
    expect(set.fenceOf('doc:1')).toBe((await memory.inspect('doc:1'))?.fence);
    expect(() => set.fence).toThrow(LockOptionsError);
    expect(() => set.fenceOf('doc:3')).toThrow(LockOptionsError);
    expect(await set.release()).toBe('released');
    expect(await heldNames()).toEqual([]);
  });

  it('ask nothing where the signal has aborted before', async () => {
    const gone = new Error('gone');
    const signal = AbortSignal.abort(gone);
    await expect(locks.acquireAll(['doc:1', 'doc:2'], { signal })).rejects.toBe(gone);
    expect(store.asked).toEqual([]);
  });

  it('hear of a revocation, though no single lock was ever taken', async () => {
    const set = await locks.acquireAll(['doc:1', 'doc:2']);
    await others.revoke('doc:2');
    await settle();
    expect(set.signal.reason).toMatchObject({ reason: 'REVOKED' });
  });

  it('are told to those who listen as single ones are', async () => {
    const heard: string[] = [];
    locks.events.on('granted', ({ name }) => heard.push(`granted ${name}`));
    locks.events.on('busy', ({ name }) => heard.push(`busy ${name}`));
    locks.events.on('unavailable', ({ name }) => heard.push(`unavailable ${name}`));
    await locks.acquireAll(['doc:1', 'doc:2']);
    await expect(locks.acquireAll(['doc:0', 'doc:2'])).rejects.toThrow(LockBusyError);
    store.next('tryAcquireAll', 'refuse');
    await expect(locks.acquireAll(['doc:3', 'doc:4'])).rejects.toThrow(LockUnavailableError);
    expect(heard).toEqual([
      'granted doc:1',
      'granted doc:2',
      'busy doc:2',
      'unavailable doc:3 + doc:4',
    ]);
  });

  it('are taken all or none', async () => {
    await others.acquire('doc:2');
    await expect(locks.acquireAll(['doc:1', 'doc:2', 'doc:3'])).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      lockName: 'doc:2',
    });
    expect(await heldNames()).toEqual(['doc:2']);
    const waiting = locks.acquireAll(['doc:1', 'doc:2'], { waitMs: 1_000 });
    const outcome = waiting.catch((error: unknown) => error);
    await clock.advance(1_010);
    expect(await outcome).toBeInstanceOf(LockWaitTimeoutError);
    expect(await heldNames()).toEqual(['doc:2']);
  });

  it('are taken one after the other, with one try each, where the store has them on different servers', async () => {
    memory.tryAcquireAll = async () => ({ status: 'apart' });
    store = new FaultyStore(memory);
    locks = new LockManager({ store, clock });
    const set = await locks.acquireAll(['doc:2', 'doc:1']);
    expect(store.asked).toEqual(['tryAcquireAll', 'tryAcquire', 'tryAcquire']);
    expect(set.leases.map(({ name }) => name)).toEqual(['doc:1', 'doc:2']);
    await expect(others.acquireAll(['doc:0', 'doc:1'])).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      lockName: 'doc:1',
    });
    expect(await heldNames()).toEqual(['doc:1', 'doc:2']);
    await set.release();
    expect(await heldNames()).toEqual([]);
    expect(store.asked).not.toContain('leave');
  });

  it('leave nothing behind when the reply is lost', async () => {
    store.next('tryAcquireAll', 'lose-reply');
    const outcome = locks.acquireAll(['doc:1', 'doc:2']).catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
    await settle();
    expect(await heldNames()).toEqual([]);
    expect(clock.timerCount).toBe(0);
  });

  it('never deadlock when sets overlap', async () => {
    const wait = { waitMs: 60_000 };
    let done = 0;
    const work = async () => {
      await new Promise((resolve) => clock.setTimer(() => resolve(undefined), 5));
      done += 1;
    };
    const all = [
      locks.run(['doc:1', 'doc:2'], wait, work),
      others.run(['doc:2', 'doc:1'], wait, work),
      locks.run(['doc:2', 'doc:3'], wait, work),
      others.run(['doc:3', 'doc:1'], wait, work),
    ];
    await clock.advance(5_000);
    await Promise.all(all);
    expect(done).toBe(4);
    expect(await heldNames()).toEqual([]);
  });

  it('end together: the loss of one aborts the signal of all', async () => {
    const set = await locks.acquireAll(['doc:1', 'doc:2'], { ttlMs: 3_000 });
    await memory.release('doc:2', (await memory.inspect('doc:2'))?.token ?? '');
    await clock.advance(1_000);
    expect(set.signal.aborted).toBe(true);
    expect(() => set.assertHeld()).toThrow(/doc:2/);
    expect(await set.release()).toBe('not-held');
  });

  it('are one context: each is found by re-entry, and currentLease knows the fence of each', async () => {
    await locks.run(['doc:1', 'doc:2'], async (set) => {
      expect(currentLease()?.fenceOf('doc:2')).toBe(set.fenceOf('doc:2'));
      await expect(locks.run('doc:1', () => 1)).rejects.toThrow(LockReentryError);
      await expect(locks.acquireAll(['doc:2', 'doc:9'])).rejects.toThrow(LockReentryError);
      await locks.run('doc:2', { reentrant: true }, (inner) =>
        expect(inner.fence).toBe(set.fenceOf('doc:2')),
      );
      await locks.run(['doc:2', 'doc:1'], { reentrant: true }, (inner) => inner.assertHeld());
      await expect(locks.run(['doc:1', 'doc:9'], { reentrant: true }, () => 1)).rejects.toThrow(
        LockReentryError,
      );
    });
    expect(await heldNames()).toEqual([]);
  });

  it('that others of the process wait for are busy', async () => {
    const held = await others.acquire('doc:1');
    const waiting = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(1);
    await expect(locks.acquireAll(['doc:0', 'doc:1'])).rejects.toThrow(LockBusyError);
    await held.release();
    await (await waiting).release();
  });

  it.each([[[]], [Array.from({ length: 101 }, (_, n) => `doc:${n}`)]])(
    'must be 1 to 100',
    async (names) => {
      await expect(locks.acquireAll(names)).rejects.toThrow(LockOptionsError);
    },
  );
});
