import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { RedisIdempotencyStore } from '../../src/idempotency/index.js';
import { idempotencyStoreContract } from '../../src/idempotency/testing/idempotency-store-contract.js';
import {
  FencedKeys,
  LockBusyError,
  LockManager,
  RedisLockStore,
  RedisTickMarks,
} from '../../src/lock/index.js';
import { semaphoreContract } from '../../src/lock/testing/semaphore-contract.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { tickMarksContract } from '../../src/lock/testing/tick-marks-contract.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { type ClusterLocks, startClusterLocks } from '../support/cluster-locks.js';
import { eventually } from '../support/eventually.js';
import { realTime } from '../support/real-time.js';
import type { RedisCluster } from '../support/redis-cluster.js';

// In containers the servers could not reach each other by loopback addresses.
const describeHere = (await findRedis()).kind === 'program' ? describe : describe.skip;

/** So many that there are some on every master. */
const scattered = Array.from({ length: 40 }, (_, index) => `doc:${index}`);

describeHere('RedisLockStore on a cluster', () => {
  let started: ClusterLocks;
  let cluster: RedisCluster;
  let client: Cluster;
  let store: RedisLockStore;
  let locks: LockManager;

  beforeAll(async () => {
    started = await startClusterLocks();
    ({ cluster, client, store, locks } = started);
  }, 60_000);

  afterAll(() => started?.stop());

  beforeEach(async () => {
    await cluster.clear();
    for (const { admin } of cluster.nodes) await admin.config('RESETSTAT');
  });

  describe('keeps the contract', () => {
    it.each(lockStoreContract)('$promise', ({ verify }) => verify({ store, elapse: realTime }));
  });

  describe('has semaphores that keep theirs', () => {
    it.each(semaphoreContract)('$promise', ({ verify }) =>
      verify({ semaphores: (permits) => store.semaphores(permits), elapse: realTime }),
    );
  });

  describe('tick marks keep theirs', () => {
    it.each(tickMarksContract)('$promise', ({ verify }) => verify(new RedisTickMarks({ client })));
  });

  describe('idempotency records keep theirs', () => {
    it.each(idempotencyStoreContract)('$promise', ({ verify }) =>
      verify(new RedisIdempotencyStore({ client })),
    );
  });

  it('writes of fenced keys are refused to late holders', async () => {
    const data = new FencedKeys(client);
    for (const key of ['a', 'b', 'c', 'd']) {
      expect(await data.set(key, 'new', 2n)).toBe(true);
      expect(await data.set(key, 'late', 1n)).toBe(false);
    }
  });

  it('keeps all keys of a lock in one slot, the plain key and the tagged ones', async () => {
    const admin = cluster.nodes[0]?.admin as Redis;
    for (const name of ['doc:1001', 'doc:a%7Bb%7D', 'doc:ünïcode']) {
      const keys = [`lock:${name}`, `{lock:${name}}:fence`, `{lock:${name}}:waiters`];
      const slots = await Promise.all(keys.map((key) => admin.cluster('KEYSLOT', key)));
      expect(new Set(slots).size).toBe(1);
    }
  });

  it('takes, renews, lists and releases locks on all masters at once, one command a lock', async () => {
    const grants = await Promise.all(
      scattered.map((name) => store.tryAcquire(name, `token-${name}`, 30_000)),
    );
    expect(grants.every(({ status }) => status === 'granted')).toBe(true);
    const renewals = scattered.map((name) => ({ name, token: `token-${name}`, ttlMs: 60_000 }));
    expect(new Set(await store.renew(renewals))).toEqual(new Set(['renewed']));
    const listed: string[] = [];
    for await (const page of store.list()) listed.push(...page.map(({ name }) => name));
    expect(listed.sort()).toEqual([...scattered].sort());
    const releases = await Promise.all(
      scattered.map((name) => store.release(name, `token-${name}`, 'process')),
    );
    expect(new Set(releases)).toEqual(new Set(['released']));
    const errors = await Promise.all(cluster.nodes.map(({ admin }) => admin.info('errorstats')));
    for (const text of errors) expect(text).not.toMatch(/errorstat_(?:CROSSSLOT|MOVED)/);
  });

  it('takes several locks one after the other, all or none', async () => {
    const set = await locks.acquireAll(['doc:1', 'doc:2', 'doc:3']);
    expect(set.fenceOf('doc:2')).toBe((await store.inspect('doc:2'))?.fence);
    const other = new LockManager({ store });
    await expect(other.acquireAll(['doc:0', 'doc:3'])).rejects.toThrow(LockBusyError);
    expect(await store.inspect('doc:0')).toBeNull();
    expect(await set.release()).toBe('released');
  });

  it('takes several locks in one step where their slot is one', async () => {
    // These two share a slot by chance, as any two names may.
    const [one, two] = ['doc:4', 'doc:540'];
    const reply = await store.tryAcquireAll(
      [
        { name: one, token: 'a' },
        { name: two, token: 'b' },
      ],
      30_000,
    );
    expect(reply.status).toBe('granted');
  });

  it('wakes a waiter of another client over the servers of the cluster', async () => {
    const otherStore = new RedisLockStore({ client: await cluster.client() });
    await otherStore.start();
    const other = new LockManager({ store: otherStore });
    for (const name of scattered.slice(0, 6)) {
      const held = await locks.acquire(name);
      const taking = other.acquire(name, { waitMs: 20_000 });
      await eventually(async () => (await locks.inspect(name))?.queued === 1);
      await eventually(async () => (await subscriptions()) >= 2);
      const startedAt = performance.now();
      await held.release();
      await (await taking).release();
      expect(performance.now() - startedAt).toBeLessThan(2_000); // the safety timer takes three
    }
    await other.close();
  });

  async function subscriptions(): Promise<number> {
    const channels = await Promise.all(
      cluster.nodes.map(({ admin }) => admin.pubsub('CHANNELS', 'lock:wake:*')),
    );
    return channels.flat().length;
  }
});
