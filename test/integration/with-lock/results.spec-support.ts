import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  LockBusyError,
  LockModule,
  type LockOptions,
  LockService,
  MemoryLockStore,
} from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';
import { Work } from './results-work.spec-support.js';

/** The error of a lease that `loseLease` has ended. */
export const lost = expect.objectContaining({ name: 'LockLostError', reason: 'NOT_OWNER' });

/** Work under locks, and what its tests see of them. */
export interface CoveredWork {
  readonly work: Work;
  readonly locks: LockService;
  /** Each test has its own. */
  readonly id: number;
  /** The lock of that id. */
  readonly name: () => string;
  readonly isHeld: () => Promise<boolean>;
  readonly expectHeld: () => Promise<void>;
  /** Somebody deletes the key, and the next renewal finds out. */
  readonly loseLease: () => Promise<void>;
  /** Calls with a short TTL, so that a loss is found soon. */
  readonly withShortTtl: <T>(call: () => T) => T;
  /** The token of every grant so far. */
  readonly currentHolders: readonly string[];
}

/**
 * Starts an application with `Work` for the tests of the block that calls it. After each of them the lock must
 * be free, and every grant released once, whatever the work's end was like.
 */
export function coverWork(): CoveredWork {
  const store = new MemoryLockStore();
  const currentHolders: string[] = [];
  const granted: bigint[] = [];
  const released: bigint[] = [];
  let app: INestApplicationContext;
  let work: Work;
  let locks: LockService;
  let id = 0;

  const name = () => `r:${id}`;
  const isHeld = async () => (await locks.inspect(name())) !== null;

  beforeAll(async () => {
    app = await Test.createTestingModule({
      imports: [LockModule.forRoot({ store, shutdownGraceMs: 0 })],
      providers: [Work],
    }).compile();
    await app.init();
    work = app.get(Work);
    locks = app.get(LockService);
    locks.events.on('granted', ({ fence }) => granted.push(fence));
    locks.events.on('released', ({ fence }) => released.push(fence));
    const acquire = store.tryAcquire.bind(store);
    store.tryAcquire = async (lock, token, ttlMs) => {
      const reply = await acquire(lock, token, ttlMs);
      if (reply.status === 'granted') currentHolders.push(token);
      return reply;
    };
  });
  afterAll(() => app.close());
  afterEach(async () => {
    await eventually(async () => !(await isHeld()), { what: 'the release' });
    const byValue = (one: bigint, other: bigint) => Number(one - other);
    await eventually(() => released.length >= granted.length, { what: 'every release' });
    expect(released.toSorted(byValue)).toEqual(granted.toSorted(byValue));
    id += 1;
  });

  return {
    get work() {
      return work;
    },
    get locks() {
      return locks;
    },
    get id() {
      return id;
    },
    name,
    isHeld,
    currentHolders,
    async expectHeld() {
      expect(await isHeld()).toBe(true);
      await expect(locks.acquire(name())).rejects.toThrow(LockBusyError);
    },
    async loseLease() {
      const lease = currentHolders.at(-1);
      expect(lease).toBeDefined();
      await store.release(name(), lease ?? '');
    },
    withShortTtl(call) {
      const { engine } = locks as unknown as { engine: { defaults: LockOptions } };
      const { defaults } = engine;
      engine.defaults = { ...defaults, ttlMs: 1_500, commandTimeoutMs: 500 };
      try {
        return call();
      } finally {
        engine.defaults = defaults;
      }
    },
  };
}
