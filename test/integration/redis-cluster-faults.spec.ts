import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Lease,
  LockManager,
  LockUnavailableError,
  type RedisLockStore,
} from '../../src/lock/index.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { type ClusterLocks, startClusterLocks } from '../support/cluster-locks.js';
import { eventually } from '../support/eventually.js';
import { expectHeldAndRelease, firstVerdict } from '../support/lease-checks.js';
import type { ClusterNode, RedisCluster } from '../support/redis-cluster.js';

// In containers the servers could not reach each other by loopback addresses.
const describeHere = (await findRedis()).kind === 'program' ? describe : describe.skip;

describeHere('a cluster that breaks', () => {
  let started: ClusterLocks;
  let cluster: RedisCluster;
  let store: RedisLockStore;
  let locks: LockManager;

  beforeEach(async () => {
    started = await startClusterLocks();
    ({ cluster, store, locks } = started);
  }, 60_000);

  afterEach(() => started?.stop());

  /** A name whose lock is on that server, and one whose lock is on each of the other two. */
  async function namesAround(node: ClusterNode): Promise<{ here: string[]; elsewhere: string[] }> {
    const here: string[] = [];
    const elsewhere: string[] = [];
    for (let index = 0; here.length < 3 || elsewhere.length < 3; index += 1) {
      const name = `doc:${index}`;
      const master = await cluster.masterOf(`lock:${name}`);
      (master === node ? here : elsewhere).push(name);
    }
    return { here, elsewhere };
  }

  async function replicaOf({ server }: ClusterNode): Promise<ClusterNode> {
    for (const node of cluster.nodes) {
      const [role, , port] = await node.admin.role();
      if (role === 'slave' && port === server.port) return node;
    }
    throw new Error(`the server on port ${server.port} has no replica`);
  }

  it('a killed master: only its locks are unavailable, the others are granted; then held ones are renewed, or told', async () => {
    const [master] = cluster.nodes as [ClusterNode];
    const replica = await replicaOf(master);
    const { here, elsewhere } = await namesAround(master);
    const [kept = '', lost = '', fresh = ''] = here;
    const ttlMs = 60_000;
    const keptLease = await locks.acquire(kept, { ttlMs });
    const otherLease = await locks.acquire(elsewhere[0] as string, { ttlMs });
    await eventually(async () => (await replica.admin.dbsize()) >= 2); // lock and fence
    await replica.server.pause();
    await master.admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
    const lostLease = await locks.acquire(lost, { ttlMs });
    const renewedFrom = 58_500;
    await eventually(() => keptLease.remainingMs < renewedFrom);
    await master.server.kill();

    await expect(locks.acquire(fresh)).rejects.toThrow(LockUnavailableError);
    for (const name of elsewhere.slice(1)) await (await locks.acquire(name)).release();
    await expect(locks.acquire(fresh)).rejects.toThrow(LockUnavailableError);
    await replica.server.resume();

    const granted = await locks.acquire(fresh, { waitMs: 25_000 });
    // Long before the watchdog is due, a third of the TTL after the grant.
    await eventually(() => keptLease.remainingMs > renewedFrom, { timeoutMs: 15_000 });
    await eventually(() => lostLease.signal.aborted, { timeoutMs: 15_000 });
    expect(lostLease.signal.reason).toMatchObject({ reason: 'NOT_OWNER' });
    for (const lease of [keptLease, otherLease, granted]) {
      await expectHeldAndRelease(locks, lease);
    }
  }, 90_000);

  it('a frozen master: its locks are unavailable within commandTimeoutMs, until its replica has taken over', async () => {
    const [master] = cluster.nodes as [ClusterNode];
    const { here, elsewhere } = await namesAround(master);
    await master.server.pause();
    const startedAt = performance.now();
    await expect(locks.acquire(here[0] as string)).rejects.toThrow(LockUnavailableError);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await (await locks.acquire(elsewhere[0] as string)).release();
    const lease = await locks.acquire(here[1] as string, { waitMs: 40_000 });
    await master.server.resume();
    await expectHeldAndRelease(locks, lease);
  }, 90_000);

  it('a slot that is moved while a lock of it is held: renewed all the time, and released', async () => {
    const [source, target] = cluster.nodes as [ClusterNode, ClusterNode];
    const { here } = await namesAround(source);
    const [name = ''] = here;
    const lease = await locks.acquire(name, { ttlMs: 20_000 });
    const slot = await source.admin.cluster('KEYSLOT', `lock:${name}`);
    const ids = await Promise.all(
      [source, target].map(({ admin }) => admin.call('CLUSTER', 'MYID')),
    );
    const [from, to] = ids as [string, string];
    await target.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from);
    await source.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to);
    await eventually(() => lease.extend(20_000));
    await expectNoVerdict(name);
    const keys = await source.admin.cluster('GETKEYSINSLOT', slot, 10);
    expect(keys).toContain(`lock:${name}`);
    await source.admin.call(
      ...(['MIGRATE', target.server.host, target.server.port, '', 0, 5_000, 'KEYS', ...keys].map(
        String,
      ) as [string]),
    );
    await eventually(() => lease.extend(20_000));
    await expectNoVerdict(name);
    for (const node of [target, source, ...cluster.nodes.slice(2, 3)]) {
      await node.admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', to);
    }
    await eventually(() => lease.extend(20_000));
    expect(await target.admin.exists(`lock:${name}`)).toBe(1);
    expect(await firstVerdict(locks, name)).toBe('busy');
    await expectHeldAndRelease(locks, lease);
    await (await locks.acquire(name, { waitMs: 20_000 })).release();
  }, 60_000);

  /** A script that needs a key which is on the other server is refused. */
  async function expectNoVerdict(name: string): Promise<void> {
    await expect(new LockManager({ store }).acquire(name)).rejects.toThrow(LockUnavailableError);
  }

  it('no server at all: fifty tries are unavailable at once, nothing is kept for later, and it works again by itself', async () => {
    const held: Lease = await locks.acquire('doc:held', { ttlMs: 30_000 });
    await Promise.all(cluster.nodes.map(({ server }) => server.kill()));
    const startedAt = performance.now();
    const tries = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => locks.acquire(`doc:${index}`)),
    );
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    for (const one of tries) {
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_UNAVAILABLE' } });
    }
    held.assertHeld();
    await cluster.heal();
    const lease = await locks.acquire('doc:1', { waitMs: 40_000 });
    await lease.release();
    // They came back empty: the holder is told by the renewal that follows the reconnection.
    await eventually(() => held.signal.aborted, { timeoutMs: 15_000 });
    const left = await Promise.all(cluster.nodes.map(({ admin }) => admin.keys('lock:*')));
    expect(left.flat()).toEqual([]);
  }, 120_000);
});
