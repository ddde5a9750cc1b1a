import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SystemClock } from '../../src/lock/core/clock.js';
import { EtcdLockStore, LockManager } from '../../src/lock/index.js';
import { EtcdConnection } from '../../src/lock/stores/etcd/etcd-connection.js';
import { EtcdKeys, leaseIdOf } from '../../src/lock/stores/etcd/etcd-keys.js';
import { parseEndpoints } from '../../src/lock/stores/etcd/etcd-members.js';
import { type EtcdCluster, startEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import {
  endOf,
  expectHeldAndRelease,
  firstVerdict,
  untilRenewed,
} from '../support/lease-checks.js';

let etcd: EtcdCluster;
const closing: (() => Promise<void>)[] = [];

function manager(endpoints: readonly string[], callTimeoutMs?: number): LockManager {
  const locks = new LockManager({ store: new EtcdLockStore({ endpoints, callTimeoutMs }) });
  closing.push(() => locks.close());
  return locks;
}

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await etcd.stop();
});

describe('a single etcd', () => {
  beforeEach(async () => {
    etcd = await startEtcd();
  }, 60_000);

  it('refuses a late command of a try that was undone: its lease is gone', async () => {
    const [keys, token] = [new EtcdKeys('lock:'), 'late-token.process.label'];
    const connection = new EtcdConnection(
      { endpoints: parseEndpoints(etcd.endpoints) },
      5_000,
      new SystemClock(),
      () => undefined,
    );
    closing.push(async () => connection.close());
    const store = new EtcdLockStore({ endpoints: etcd.endpoints });
    closing.push(() => store.close());
    const lease = leaseIdOf(token);
    await connection.call('Lease/LeaseGrant', { id: lease, ttl: 30 });
    expect(await store.release('doc:1', token)).toBe('not-held'); // the undoing, between the two calls
    const late = connection.call('KV/Txn', {
      compare: [],
      success: [{ put: { key: keys.lock('doc:1', token), value: Buffer.from('held 1'), lease } }],
      failure: [],
    });
    await expect(late).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', mayHaveRun: false });
    expect(await store.inspect('doc:1')).toBeNull();
  });

  it('is unavailable within the deadline when it says nothing, and nothing stays of the try', async () => {
    await using proxy = await FaultProxy.start({ port: etcd.members[0]?.port ?? 0 });
    const locks = manager([`http://127.0.0.1:${proxy.port}`], 500);
    const lease = await locks.acquire('doc:1', { waitMs: 20_000 });
    proxy.dropReplies();
    const startedAt = performance.now();
    await expect(locks.acquire('doc:2', { ttlMs: 3_000 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await proxy.pass();
    proxy.resetConnections();
    await eventually(async () => (await locks.inspect('doc:2')) === null, { timeoutMs: 20_000 });
    await (await locks.acquire('doc:2', { waitMs: 20_000 })).release();
    await expectHeldAndRelease(locks, lease);
  });

  it('that restarts with its data has kept the lock, and the lease goes on', async () => {
    const locks = manager(etcd.endpoints, 500);
    const lease = await locks.acquire('doc:1', { ttlMs: 20_000, waitMs: 20_000 });
    const [member] = etcd.members;
    const end = endOf(lease);
    await member?.server.end('SIGKILL');
    await expect(locks.acquire('doc:2')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await member?.server.spawn();
    await member?.server.ready();
    expect(await firstVerdict(manager(etcd.endpoints), 'doc:1')).toBe('busy');
    await untilRenewed(lease, end);
    await expectHeldAndRelease(locks, lease);
  }, 90_000);
});

describe('a cluster of three', () => {
  beforeEach(async () => {
    etcd = await startEtcd(3);
  }, 60_000);

  it('goes on when its leader is killed: locks are kept, leases renewed, new grants follow', async () => {
    const leader = await etcd.leader();
    // The leader first, so that it is the one in use.
    const endpoints = [leader.url, ...etcd.endpoints.filter((url) => url !== leader.url)];
    const locks = manager(endpoints);
    const others = manager(endpoints);
    const lease = await locks.acquire('doc:held', { ttlMs: 20_000 });
    const waiting = others.acquire('doc:held', { waitMs: 60_000 });
    await eventually(async () => (await locks.inspect('doc:held'))?.queued === 1);
    const end = endOf(lease);
    await leader.server.end('SIGKILL');
    const killedAt = performance.now();
    const fresh = await locks.acquire('doc:new', { waitMs: 30_000 });
    const gapMs = performance.now() - killedAt;
    expect(gapMs).toBeLessThan(15_000);
    expect(fresh.fence).toBeGreaterThan(lease.fence);
    await untilRenewed(lease, end);
    expect(await firstVerdict(others, 'doc:held')).toBe('busy');
    await lease.release();
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(fresh.fence);
    await next.release();
    await fresh.release();
  }, 120_000);

  it('is served by its other members when the one in use says nothing any more', async () => {
    const leader = await etcd.leader();
    const follower = etcd.members.find((member) => member !== leader);
    const endpoints = [follower?.url ?? '', leader.url];
    const locks = manager(endpoints, 500);
    const lease = await locks.acquire('doc:held', { ttlMs: 20_000, waitMs: 20_000 });
    const end = endOf(lease);
    follower?.server.pause();
    await expect(locks.acquire('doc:one-try')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await (await locks.acquire('doc:new', { waitMs: 30_000 })).release();
    await untilRenewed(lease, end);
    await expectHeldAndRelease(locks, lease);
    follower?.server.resume();
  }, 120_000);
});
