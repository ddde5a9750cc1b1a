import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LockManager, ZookeeperLockStore } from '../../src/lock/index.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { Child } from '../support/child.js';
import {
  expectServedInTurn,
  expectTakeoverOfPaused,
  expectToldOfRevocation,
} from '../support/coordinator-cases.js';
import { eventually } from '../support/eventually.js';
import { realTime } from '../support/real-time.js';
import { startZookeeper, type ZookeeperEnsemble } from '../support/zookeeper.js';
import { endSession, lockNodes } from '../support/zookeeper-admin.js';

let zookeeper: ZookeeperEnsemble;
let store: ZookeeperLockStore;
let locks: LockManager;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  zookeeper = await startZookeeper();
  store = new ZookeeperLockStore({ servers: zookeeper.servers });
  locks = new LockManager({ store });
  await locks.start();
}, 90_000);

afterAll(async () => {
  for (const close of closing.splice(0)) await close();
  await locks.close();
  await zookeeper.stop();
});

async function another(ttlMs?: number): Promise<ZookeeperLockStore> {
  const other = new ZookeeperLockStore({ servers: zookeeper.servers, ttlMs });
  closing.push(() => other.close());
  await other.start();
  return other;
}

describe('ZookeeperLockStore keeps the contract', () => {
  it.each(lockStoreContract)('$promise', ({ verify }) =>
    verify({
      store,
      elapse: realTime,
      mortal: async () => {
        const dying = await another();
        return { store: dying, end: () => endSession(dying, zookeeper.servers) };
      },
    }),
  );
});

describe('its nodes', () => {
  it('are ephemeral and sequential, the first one holds, and nothing stays of a lock that was let go', async () => {
    const lease = await locks.acquire('doc:node');
    expect(await lockNodes(zookeeper.servers, 'lock:doc:node')).toEqual([
      expect.stringMatching(/^held-[\w-]+\.[\w-]+\.[^/]+-\d{10}$/),
    ]);
    expect(await locks.inspect('doc:node')).toMatchObject({ fence: lease.fence, queued: 0 });
    await lease.release();
    await eventually(async () => (await lockNodes(zookeeper.servers, 'lock:doc:node')) === null);
  });

  it('go when a lease ends without a release, although the session lives on', async () => {
    const lease = await locks.acquire('doc:long', { ttlMs: 2_000, maxHoldMs: 500 });
    await eventually(() => lease.signal.aborted);
    expect(lease.signal.reason).toMatchObject({ reason: 'MAX_HOLD' });
    await eventually(async () => (await locks.inspect('doc:long')) === null);
  });
});

describe('a session', () => {
  it('that expires aborts the signals of all its leases, and the next one takes locks again', async () => {
    const other = await another();
    const engine = new LockManager({ store: other });
    const leases = [await engine.acquire('doc:s1'), await engine.acquire('doc:s2')];
    await endSession(other, zookeeper.servers);
    await eventually(() => leases.every((lease) => lease.signal.aborted));
    for (const lease of leases) expect(lease.signal.reason).toMatchObject({ reason: 'NOT_OWNER' });
    const next = await locks.acquire('doc:s1');
    expect(next.fence).toBeGreaterThan(leases[0]?.fence ?? 0n);
    await next.release();
    await (await engine.acquire('doc:s2', { waitMs: 10_000 })).release();
  });

  it('of a process that was paused for longer is over when it wakes, and another has a higher fence', async () => {
    const options = { servers: zookeeper.servers, ttlMs: 1_000 };
    const child = { store: 'ZookeeperLockStore', options };
    await expectTakeoverOfPaused(locks, child, /^lost (?:EXPIRED|NOT_OWNER)$/);
  });

  it('that the servers make shorter than the TTL is refused at start', async () => {
    const long = new ZookeeperLockStore({ servers: zookeeper.servers, ttlMs: 3_600_000 });
    closing.push(() => long.close());
    await expect(long.start()).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('maxSessionTimeout'),
    });
    await expect(locks.acquire('doc:1', { ttlMs: 40_000 })).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('for longer than 30000 ms'),
    });
  });
});

describe('a lease', () => {
  it('is told of a revocation at once, by the watch on its node', async () => {
    await expectToldOfRevocation(locks, new LockManager({ store: await another() }));
  });
});

describe('waiters', () => {
  it('of several processes are served in turn, woken by what they watch', async () => {
    const stores = await Promise.all([1, 2, 3].map(() => another()));
    await expectServedInTurn(
      locks,
      stores.map((one) => new LockManager({ store: one })),
    );
    await eventually(async () => (await lockNodes(zookeeper.servers, 'lock:doc:turn')) === null);
  });
});

describe('the client library', () => {
  it('is named in the refusal to start where it is not installed', async () => {
    const options = { servers: zookeeper.servers };
    const missing = ['node-zookeeper-client'];
    const child = Child.start('start-store-without.mjs', {
      store: 'ZookeeperLockStore',
      options,
      missing,
    });
    expect(await child.says('refused')).toMatch(
      /^refused LOCK_OPTIONS: .*npm install node-zookeeper-client/,
    );
    await child.exited;
  });
});

describe('options', () => {
  it.each(['', 'zk-1', 'zk-1:2181/chroot', 'zk-1:2181, zk-2:2181'])(
    'refuse the servers %j',
    (servers) => {
      expect(() => new ZookeeperLockStore({ servers })).toThrow('write all of them');
    },
  );
});
