import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock, settle } from '../testing/manual-clock.js';
import { LockManager } from './lock-manager.js';
import type { WakeListener } from './lock-store.js';
import { LockOptionsError, LockUnavailableError } from './lock.errors.js';

let clock: ManualClock;
let memory: MemoryLockStore;
let store: FaultyStore;
let locks: LockManager;
let admin: LockManager;

beforeEach(() => {
  clock = new ManualClock();
  memory = new MemoryLockStore(clock);
  store = new FaultyStore(memory);
  locks = new LockManager({ store, clock, instanceId: 'holder' });
  admin = new LockManager({ store: memory, clock, instanceId: 'admin' });
});

describe('revoke', () => {
  it('tells the holder at once, and keeps the lock for it until it has let go', async () => {
    const lease = await locks.acquire('doc:1');
    const waiting = admin.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(10);
    expect(await admin.revoke('doc:1')).toBe('revoked');
    await settle();
    expect(lease.signal.reason).toMatchObject({ reason: 'REVOKED' });
    expect(await admin.inspect('doc:1')).toMatchObject({
      revoked: true,
      holder: { label: 'holder' },
    });
    expect(await lease.release()).toBe('released');
    (await waiting).assertHeld();
  });

  it('reaches a holder that misses the message by its next renewal', async () => {
    store.deaf = true;
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    await admin.revoke('doc:1');
    await clock.advance(950);
    lease.assertHeld();
    await clock.advance(51);
    expect(lease.signal.reason).toMatchObject({ reason: 'REVOKED' });
  });

  it.each([
    ['whose renewals go on', 600_000],
    ['which lives to its maximum already', 10_000],
  ])('takes nothing from the next lease of the same process, %s', async (_what, maxHoldMs) => {
    const late: (() => void)[] = [];
    const hear = memory.onWake.bind(memory);
    jest
      .spyOn(memory, 'onWake')
      .mockImplementation((process, listener) =>
        hear(process, (...message: Parameters<WakeListener>) =>
          late.push(() => listener(...message)),
        ),
      );
    const options = { ttlMs: 30_000, maxHoldMs };
    const first = await locks.acquire('doc:1', options);
    await admin.revoke('doc:1');
    await first.release();
    const second = await locks.acquire('doc:1', options);
    await settle();
    expect(late).toHaveLength(1);
    for (const arrive of late.splice(0)) arrive();
    await settle();
    second.assertHeld();
    await admin.revoke('doc:1');
    await settle();
    for (const arrive of late) arrive();
    expect(second.signal.reason).toMatchObject({ reason: 'REVOKED' });
  });

  it('is found by a renewal where the message does not say which lease it means', async () => {
    let tell: WakeListener = () => undefined;
    const listen = jest.spyOn(memory, 'onWake').mockImplementation((_process, listener) => {
      tell = listener;
      return () => undefined;
    });
    const lease = await locks.acquire('doc:1');
    listen.mockRestore();
    tell('doc:1', 'revoked');
    await settle();
    lease.assertHeld();
    await admin.revoke('doc:1');
    tell('doc:1', 'revoked');
    await settle();
    expect(lease.signal.reason).toMatchObject({ reason: 'REVOKED' });
  });

  it('takes a dead holder’s lock with a long TTL away with force, once it was revoked', async () => {
    await locks.acquire('doc:1', { ttlMs: 86_400_000 });
    store.always('renew', 'lose-request');
    expect(await admin.revoke('doc:1', { force: true })).toBe('revoked');
    expect(await admin.revoke('doc:1')).toBe('revoked');
    expect(await admin.tryAcquire('doc:1')).toBeNull();
    expect(await admin.revoke('doc:1', { force: true })).toBe('deleted');
    (await admin.acquire('doc:1')).assertHeld();
  });

  it('costs a dead holder no more than its remaining life', async () => {
    await locks.acquire('doc:1', { ttlMs: 3_000 });
    store.always('renew', 'lose-request');
    store.deaf = true;
    await admin.revoke('doc:1');
    const waiting = admin.acquire('doc:1', { waitMs: 60_000 });
    await clock.advance(3_020);
    (await waiting).assertHeld();
  });

  it('makes run fail although the work finished', async () => {
    const running = locks.run('doc:1', async () => {
      await admin.revoke('doc:1');
      await settle();
      return 'done';
    });
    await expect(running).rejects.toMatchObject({ reason: 'REVOKED', result: 'done' });
  });

  it('leaves a foreign lock alone unless forced, and then deletes it', async () => {
    await memory.tryAcquire('doc:1', 'somebody-else', 30_000);
    expect(await admin.revoke('doc:1')).toBe('foreign');
    expect(await admin.inspect('doc:1')).toMatchObject({ holder: null });
    expect(await admin.revoke('doc:1', { force: true })).toBe('deleted');
    expect(await admin.revoke('doc:1', { force: true })).toBe('not-held');
  });
});

describe('a name that is none', () => {
  it.each(['acquire', 'tryAcquire', 'inspect', 'revoke'] as const)(
    'is refused by %s with a rejection, never at once',
    async (method) => {
      await expect(locks[method]('')).rejects.toBeInstanceOf(LockOptionsError);
    },
  );
});

describe('list', () => {
  it('shows every lock that is held, with its holder and its line', async () => {
    await locks.acquire('doc:1');
    await locks.acquire('doc:2');
    const waiting = admin.acquire('doc:2', { waitMs: 1_000 }).catch(() => 'gave up');
    await clock.advance(500);
    const states = [];
    for await (const state of admin.list()) states.push(state);
    expect(states).toMatchObject([
      { name: 'doc:1', holder: { label: 'holder' }, heldForMs: 500, queued: 0, revoked: false },
      { name: 'doc:2', holder: { label: 'holder' }, heldForMs: 500, queued: 1, revoked: false },
    ]);
    await clock.advance(1_000);
    expect(await waiting).toBe('gave up');
  });

  it('is unavailable, and not empty, when the store is in trouble', async () => {
    store.always('inspect', 'lose-request');
    const outcome = locks.inspect('doc:1').catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await outcome).toBeInstanceOf(LockUnavailableError);
  });
});
