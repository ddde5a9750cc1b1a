import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock, settle } from '../testing/manual-clock.js';
import { LockManager } from './lock-manager.js';
import { LockOptionsError } from './lock.errors.js';
import { failure } from './two-engines.spec-support.js';

const LONGEST_MS = 5_000;

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;

const manager = (ttlMs: number) => new LockManager({ store, clock, defaults: { ttlMs } });

beforeEach(() => {
  clock = new ManualClock();
  memory = new MemoryLockStore(clock);
});

describe('a store that keeps no lock for longer than so', () => {
  beforeEach(() => {
    const capabilities = { ...memory.capabilities, longestTtlMs: LONGEST_MS };
    store = new FaultyStore(Object.assign(memory, { capabilities }));
  });

  it('is not used with longer lives by default', () => {
    expect(() => manager(LONGEST_MS + 1)).toThrow(/ttlMs is 5001, but the lock store keeps no/);
  });

  it('is not asked for a longer life, nor does a lease end by asking', async () => {
    const locks = manager(LONGEST_MS);
    const error = await failure(locks.acquire('doc:1', { ttlMs: LONGEST_MS + 1, waitMs: 9_000 }));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(store.asked).toEqual([]);
    const lease = await locks.acquire('doc:1');
    expect(await failure(lease.extend(LONGEST_MS + 1))).toBeInstanceOf(LockOptionsError);
    await clock.advance(2 * LONGEST_MS);
    lease.assertHeld();
    await lease.release();
  });
});

it('a caller whom the store refuses is told that, and not of trouble', async () => {
  store = new FaultyStore(memory);
  jest
    .spyOn(memory, 'tryAcquire')
    .mockRejectedValueOnce(new LockOptionsError('no such thing here', 'doc:1'));
  const error = await failure(manager(1_000).acquire('doc:1', { waitMs: 5_000 }));
  expect(error).toMatchObject({ code: 'LOCK_OPTIONS', message: 'no such thing here' });
  expect(store.asked).toEqual(['tryAcquire', 'leave']);
});

describe('a store that undoes tries by itself', () => {
  let locks: LockManager;
  let tokens: string[];

  beforeEach(() => {
    store = new FaultyStore(Object.assign(memory, { undoesTries: true }));
    locks = manager(30_000);
    tokens = [];
    const ask = store.tryAcquire;
    store.tryAcquire = (name, token, ttlMs, place) => {
      tokens.push(token);
      return ask(name, token, ttlMs, place);
    };
  });

  it('is never asked with a token twice while the lock is busy', async () => {
    await memory.tryAcquire('doc:1', 'somebody', 10_000);
    const waiting = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(10_100);
    const lease = await waiting;
    expect(tokens.length).toBeGreaterThan(2);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(await memory.inspect('doc:1')).toMatchObject({ token: tokens.at(-1) });
    await lease.release();
  });

  it.each(['lose-reply', 'lose-request', 'refuse'] as const)(
    'is asked with a fresh token after trouble (%s), and the first one is undone',
    async (fault) => {
      store.next('tryAcquire', fault);
      const waiting = locks.acquire('doc:1', { waitMs: 60_000 });
      await clock.advance(2_000);
      const lease = await waiting;
      expect(new Set(tokens).size).toBe(2);
      await lease.release();
      await clock.advance(60_000);
      expect(await memory.inspect('doc:1')).toBeNull();
      expect(clock.timerCount).toBe(0);
    },
  );

  it('may delete what it undoes late: that is nobody’s lock', async () => {
    store.next('tryAcquire', 'lose-reply');
    const waiting = locks.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(2_000);
    const lease = await waiting;
    await memory.release('doc:1', tokens[0] ?? '');
    await settle();
    expect(await memory.inspect('doc:1')).not.toBeNull();
    await clock.advance(20_000);
    lease.assertHeld();
  });
});
