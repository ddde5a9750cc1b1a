import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisLockClientOptions, RedlockLockStore } from '../../src/lock/index.js';
import { LuaScript } from '../../src/lock/store-kit.js';
import { lockScripts } from '../../src/lock/stores/redis/scripts.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { calls } from '../support/command-calls.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { realTime } from '../support/real-time.js';
import type { RedisServer } from '../support/redis.js';
import { MINUTE_MS, redlockNodes } from '../support/redlock.js';

const raiseFence = new LuaScript({ files: ['../redlock/raise-fence.lua'] });
const { servers, admins, ports, closers, open, openOnly, keysLeft } = redlockNodes();

describe('RedlockLockStore keeps the contract', () => {
  let store: RedlockLockStore;
  beforeEach(async () => {
    store = await open();
  });
  it.each(lockStoreContract)('$promise', ({ verify }) => verify({ store, elapse: realTime }));
});

describe('on each node', () => {
  it('a lock looks as the Redis store has it, and a foreign client of most nodes excludes', async () => {
    const store = await open();
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    await eventually(async () => (await keysLeft()).length === 5);
    for (const admin of admins) {
      expect((await admin.keys('*')).sort()).toEqual(['lock:doc:1', '{lock:doc:1}:fence']);
      expect(await admin.get('lock:doc:1')).toBe('token');
      expect(await admin.pttl('lock:doc:1')).toBeGreaterThan(30_000);
    }
    for (const admin of admins.slice(0, 3)) await admin.set('lock:doc:2', 'foreign', 'PX', 9_000);
    expect(await store.tryAcquire('doc:2', 'token', 1_000)).toMatchObject({ status: 'busy' });
    expect(await store.inspect('doc:2')).toMatchObject({ token: 'foreign' });
    await eventually(async () => (await keysLeft('lock:doc:2')).length === 3);
  });

  it('a grant costs two scripts, one after the other, and a release one, beside the order', async () => {
    const store = await open();
    const { acquire, release } = lockScripts('lock:wake:');
    // The first calls have the servers load the scripts.
    await store.tryAcquire('warm', 'token', MINUTE_MS);
    await store.release('warm', 'token', 'process');
    for (const admin of admins) {
      for (const { text } of [acquire, release, raiseFence]) await admin.script('LOAD', text);
      await admin.config('RESETSTAT');
    }
    /** How many scripts each node has run, those that have run most first. */
    const scripts = async () => {
      const counts = await Promise.all(admins.map((admin) => calls(admin, 'evalsha')));
      return String(counts.sort((a, b) => b - a));
    };
    // The one that keeps the order is asked once more, whether anybody waits.
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    await eventually(async () => (await scripts()) === '3,2,2,2,2');
    await store.tryAcquire('doc:1', 'other', MINUTE_MS);
    await eventually(async () => (await scripts()) === '5,3,3,3,3');
    // Each node wakes whoever is first in an order of its own, if it has one.
    await store.release('doc:1', 'token', 'process');
    await eventually(async () => (await scripts()) === '7,5,5,5,5');
  });

  it('the fence is raised only while the token holds the lock, and never lowered', async () => {
    const [admin] = admins as [Redis];
    const keys = ['lock:doc:1', '{lock:doc:1}:fence', '{lock:doc:1}:waiters'];
    const raise = (token: string, fence: string) =>
      raiseFence.run(admin, { keys, args: [token, fence] });
    expect(await raise('token', '5')).toBe(0);
    await admin.set('lock:doc:1', 'token', 'PX', MINUTE_MS);
    const fence = '1893456000000001';
    expect(await raise('other', fence)).toBe(0);
    expect(await admin.exists('{lock:doc:1}:fence')).toBe(0);
    expect(await raise('token', fence)).toBe(1);
    expect(await raise('token', '1893456000000000')).toBe(1);
    expect(await admin.get('{lock:doc:1}:fence')).toBe(fence);
    expect(await admin.expiretime('{lock:doc:1}:fence')).toBe(1893456000 + 86400);
    const text = readFileSync('src/lock/stores/redlock/raise-fence.lua', 'utf8');
    for (const word of [/-- .*KEYS/, /-- .*ARGV/, /-- Returns/]) expect(text).toMatch(word);
  });
});

describe('a check of the nodes', () => {
  it('finds nothing where all is well, and leaves nothing behind', async () => {
    const store = await open();
    expect(await store.check()).toEqual([]);
    expect(await keysLeft('*')).toEqual([]);
  });

  it('says what may break locks, and on which node, also of one that is away', async () => {
    const [first] = admins as [Redis];
    const store = await openOnly([0, 1, 2]);
    await first.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      expect(await store.check()).toEqual([
        expect.stringMatching(`node 127.0.0.1:${ports()[0]}: .*allkeys-lru.*Set it to noeviction`),
        expect.stringMatching(/node 127.0.0.1:\d+: .*not ready.*Bring it back/),
        expect.stringMatching(/node 127.0.0.1:\d+: .*not ready.*Bring it back/),
      ]);
    } finally {
      await first.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });

  it('refuses a node whose user lacks rights, and names it', async () => {
    const [first] = admins as [Redis];
    const store = await open();
    await first.call('ACL', 'SETUSER', 'default', '-pexpire');
    try {
      await expect(store.check()).rejects.toMatchObject({
        code: 'LOCK_OPTIONS',
        message: expect.stringMatching(`node 127.0.0.1:${ports()[0]}: .*lacks rights`),
      });
    } finally {
      await first.call('ACL', 'SETUSER', 'default', '+pexpire');
    }
  });

  it('has no verdict where too few nodes answer', async () => {
    const store = await openOnly([0, 1]);
    await expect(store.check()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});

describe('what makes no Redlock is refused', () => {
  const idle = () => {
    const client = new Redis({ ...redisLockClientOptions, lazyConnect: true });
    closers.push(() => client.disconnect());
    return client;
  };

  it.each([
    ['two clients', () => ({ clients: [idle(), idle()] }), 'has 2 clients'],
    ['four clients', () => ({ clients: [idle(), idle(), idle(), idle()] }), 'has 4 clients'],
    [
      'one client twice',
      () => {
        const client = idle();
        return { clients: [client, client, idle()] };
      },
      'one client twice',
    ],
    [
      'a time that is none',
      () => ({ clients: [idle(), idle(), idle()], nodeTimeoutMs: 0 }),
      'nodeTimeoutMs: 0',
    ],
  ])('%s', (_what, options, message) => {
    expect(() => new RedlockLockStore(options())).toThrow(message);
  });

  it('one server under two addresses, at start', async () => {
    const proxy = await FaultProxy.start(servers[0] as RedisServer);
    closers.push(() => proxy.close());
    const [first = 0, second = 0] = ports();
    await expect(open([first, second, proxy.port])).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(
        /not independent: 127\.0\.0\.1:\d+: it is the same server as 127\.0\.0\.1:\d+ .*Give each its own Redis master/,
      ),
    });
  });

  it('a replica, at start', async () => {
    await admins[4]?.replicaof('127.0.0.1', ports()[0] ?? 0);
    try {
      const nodes = [0, 1, 4].map((node) => ports()[node] ?? 0);
      await expect(open(nodes)).rejects.toThrow(/it is a slave, not a master of its own/);
    } finally {
      await admins[4]?.replicaof('NO', 'ONE');
    }
  });

  it('a TTL beyond the longest, for which nobody would abstain', async () => {
    const store = await open();
    await expect(store.tryAcquire('doc:1', 'token', 60_001)).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('longestTtlMs'),
    });
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    const renewals = [MINUTE_MS + 1, MINUTE_MS].map((ttlMs) => ({
      name: 'doc:1',
      token: 'token',
      ttlMs,
    }));
    expect(await store.renew(renewals)).toEqual(['unknown', 'renewed']);
    expect(await store.renew(renewals.slice(0, 1))).toEqual(['unknown']);
  });
});
