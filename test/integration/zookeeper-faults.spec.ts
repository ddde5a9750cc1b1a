import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockManager, ZookeeperLockStore } from '../../src/lock/index.js';
import type { ZookeeperSession } from '../../src/lock/stores/zookeeper/zookeeper-session.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { portOf } from '../support/free-port.js';
import { endOf, expectHeldAndRelease, untilRenewed } from '../support/lease-checks.js';
import { realTime } from '../support/real-time.js';
import { startZookeeper, type ZookeeperEnsemble } from '../support/zookeeper.js';
import { lockNodes } from '../support/zookeeper-admin.js';

let zookeeper: ZookeeperEnsemble;
const closing: (() => Promise<void>)[] = [];

async function manager(
  servers: string,
  { ttlMs, callTimeoutMs }: { ttlMs?: number; callTimeoutMs?: number } = {},
): Promise<LockManager> {
  const locks = new LockManager({
    store: new ZookeeperLockStore({ servers, ttlMs, callTimeoutMs }),
    defaults: { ttlMs },
  });
  closing.push(() => locks.close());
  await locks.start();
  return locks;
}

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await zookeeper.stop();
});

describe('a single ZooKeeper server', () => {
  beforeEach(async () => {
    zookeeper = await startZookeeper();
  }, 90_000);

  it('has made the node although the reply was lost: it is found by its name and leaves no orphan', async () => {
    const port = zookeeper.members[0]?.port ?? 0;
    await using proxy = await FaultProxy.start({ port });
    const locks = await manager(`127.0.0.1:${proxy.port}`, { callTimeoutMs: 2_000 });
    const others = await manager(zookeeper.servers);
    await (await locks.acquire('doc:1')).release(); // connected, and the root is there
    await eventually(async () => (await lockNodes(zookeeper.servers, 'lock:doc:1')) === null);

    // The look and the making of the parent are answered; the reply to the node's creation is not.
    const other = await others.acquire('doc:1');
    const cut = proxy.dropNextReplyThenCut();
    const waiting = locks.acquire('doc:1', { waitMs: 30_000 });
    await cut;
    await other.release();
    const lease = await waiting;
    expect(await lockNodes(zookeeper.servers, 'lock:doc:1')).toHaveLength(1);
    expect(await others.tryAcquire('doc:1')).toBeNull();
    await lease.release();
    await eventually(async () => (await lockNodes(zookeeper.servers, 'lock:doc:1')) === null);

    proxy.dropReplies();
    await expect(locks.acquire('doc:2', { ttlMs: 20_000 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    await proxy.pass();
    proxy.resetConnections();
    await eventually(async () => (await lockNodes(zookeeper.servers, 'lock:doc:2')) === null);
    await (await others.acquire('doc:2', { waitMs: 20_000 })).release();
  }, 90_000);

  it('keeps no node of a try that failed, nor of a release, when nobody could be asked for longer than the TTL', async () => {
    const port = zookeeper.members[0]?.port ?? 0;
    await using proxy = await FaultProxy.start({ port });
    const store = new ZookeeperLockStore({ servers: `127.0.0.1:${proxy.port}`, ttlMs: 20_000 });
    const locks = new LockManager({ store, defaults: { ttlMs: 20_000 } });
    closing.push(() => locks.close());
    await locks.start();
    const kept = await locks.acquire('doc:1', { ttlMs: 20_000 });
    const given = await locks.acquire('doc:2', { ttlMs: 1_000 });
    const { session } = store as unknown as { session: ZookeeperSession };
    const create = session.create.bind(session);
    const lost = jest.spyOn(session, 'create').mockImplementation(async (...args) => {
      const path = await create(...args);
      if (path !== undefined) proxy.dropReplies();
      return path;
    });
    await expect(locks.acquire('doc:3', { ttlMs: 1_000 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    lost.mockRestore();
    expect(await given.release()).toBe('unknown');
    await realTime(2_000);
    await proxy.pass();
    proxy.resetConnections();
    for (const name of ['lock:doc:2', 'lock:doc:3']) {
      const isGone = async () => !(await lockNodes(zookeeper.servers, name))?.length;
      await eventually(isGone, { timeoutMs: 20_000, what: `${name} to go` });
    }
    kept.assertHeld(); // the session has lived all the time
    expect(await kept.release()).toBe('released');
  }, 90_000);

  it('is understood again after a connection that ended in the middle of a message', async () => {
    const port = zookeeper.members[0]?.port ?? 0;
    await using proxy = await FaultProxy.start({ port });
    const locks = await manager(`127.0.0.1:${proxy.port}`);
    const lease = await locks.acquire('doc:1');
    for (const bytes of [3, 9, 30]) {
      const cut = proxy.dropNextReplyThenCut(bytes);
      await locks.inspect('doc:1').catch(() => null);
      await cut;
      await (await locks.acquire('doc:2', { waitMs: 20_000 })).release();
    }
    lease.assertHeld();
    expect(await lease.release()).toBe('released');
  }, 90_000);

  it('that says what cannot be read is one that cannot be reached', async () => {
    const nonsense = Buffer.from([0, 0, 0, 16, ...Array.from({ length: 16 }, () => 1)]);
    const server = createServer((socket) => {
      socket.on('error', () => undefined); // the store ends it
      socket.once('data', () => socket.write(nonsense));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const locks = await manager(`127.0.0.1:${portOf(server)}`, { callTimeoutMs: 500 });
    await expect(locks.acquire('doc:1')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    server.close();
  }, 30_000);

  it('that says nothing is unavailable in time; its sessions end, and so do the leases', async () => {
    const locks = await manager(zookeeper.servers, { ttlMs: 3_000, callTimeoutMs: 500 });
    const lease = await locks.acquire('doc:1', { ttlMs: 3_000 });
    zookeeper.members[0]?.server.pause();
    const startedAt = performance.now();
    await expect(locks.acquire('doc:2', { ttlMs: 3_000 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await eventually(() => lease.signal.aborted); // by its own deadline
    expect(lease.signal.reason).toMatchObject({ reason: 'EXPIRED' });
    zookeeper.members[0]?.server.resume();
    await (await locks.acquire('doc:2', { ttlMs: 3_000, waitMs: 20_000 })).release();
  }, 60_000);
});

describe('an ensemble of three', () => {
  beforeEach(async () => {
    zookeeper = await startZookeeper(3);
  }, 120_000);

  it('goes on when its leader is killed: locks are kept, leases renewed, new grants follow', async () => {
    const leader = await zookeeper.leader();
    const locks = await manager(zookeeper.servers, { ttlMs: 12_000 });
    const others = await manager(zookeeper.servers, { ttlMs: 12_000 });
    const lease = await locks.acquire('doc:held', { ttlMs: 12_000 });
    const waiting = others.acquire('doc:held', { ttlMs: 12_000, waitMs: 60_000 });
    await eventually(async () => (await locks.inspect('doc:held'))?.queued === 1);
    const end = endOf(lease);
    await leader.server.end('SIGKILL');
    const fresh = await locks.acquire('doc:new', { ttlMs: 12_000, waitMs: 60_000 });
    expect(fresh.fence).toBeGreaterThan(lease.fence);
    await untilRenewed(lease, end);
    await expectHeldAndRelease(locks, lease);
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(fresh.fence);
    await next.release();
    await fresh.release();
  }, 150_000);
});
