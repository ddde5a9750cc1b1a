import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import {
  LockManager,
  redisLockClientOptions,
  redisLockClusterOptions,
  RedisLockStore,
} from '../../src/lock/index.js';
import { lockScripts } from '../../src/lock/stores/redis/scripts.js';
import { countedRoom } from '../../src/lock/stores/redis/redis-permit-store.js';
import { permitScripts } from '../../src/lock/stores/redis/permit-scripts.js';
import { semaphoreContract } from '../../src/lock/testing/semaphore-contract.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { realTime } from '../support/real-time.js';

let server: RedisServer;
let client: Redis;
let admin: Redis;
let store: RedisLockStore;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
  client = new Redis(server.port, server.host, { ...redisLockClientOptions });
  store = new RedisLockStore({ client });
  await eventually(() => client.status === 'ready');
});

afterAll(async () => {
  await store.close();
  client.disconnect();
  admin.disconnect();
  await server.stop();
});

beforeEach(() => admin.flushall());

describe('RedisLockStore keeps the contract', () => {
  it.each(lockStoreContract)('$promise', ({ verify }) => verify({ store, elapse: realTime }));
});

describe('RedisLockStore has semaphores that keep theirs', () => {
  it.each(semaphoreContract)('$promise', ({ verify }) =>
    verify({ semaphores: (permits) => store.semaphores(permits), elapse: realTime }),
  );
});

describe('its wire format', () => {
  it('is a plain string key with a TTL, and a fence beside it', async () => {
    await store.tryAcquire('doc:1001', 'token', 30_000);
    expect(await admin.get('lock:doc:1001')).toBe('token');
    expect(await admin.pttl('lock:doc:1001')).toBeGreaterThan(29_000);
    expect((await admin.keys('*')).sort()).toEqual(['lock:doc:1001', '{lock:doc:1001}:fence']);
  });

  it('keeps the fence until a day after it on the server clock, and nothing else', async () => {
    const reply = await store.tryAcquire('doc:1', 'token', 1_000);
    await store.release('doc:1', 'token', 'process');
    expect(await admin.keys('*')).toEqual(['{lock:doc:1}:fence']);
    const expiresAt = Number(await admin.call('PEXPIRETIME', '{lock:doc:1}:fence'));
    const fence = reply.status === 'granted' ? reply.fence : 0n;
    expect(BigInt(expiresAt)).toBe((fence / 1_000_000n) * 1_000n + 86_400_000n);
  });

  it('excludes a foreign client of the SET NX PX recipe, and is excluded by it', async () => {
    await admin.set('lock:doc:1', 'somebody-else', 'PX', 30_000, 'NX');
    const reply = await store.tryAcquire('doc:1', 'token', 1_000);
    expect(reply).toMatchObject({ status: 'busy' });
    expect(await store.release('doc:1', 'token', 'process')).toBe('not-held');
    expect(await store.renew([{ name: 'doc:1', token: 'token', ttlMs: 60_000 }])).toEqual([
      'not-owner',
    ]);
    expect(await admin.pttl('lock:doc:1')).toBeLessThanOrEqual(30_000);

    await store.tryAcquire('doc:2', 'token', 30_000);
    expect(await admin.set('lock:doc:2', 'somebody-else', 'PX', 30_000, 'NX')).toBeNull();
  });

  it('shows a foreign holder as foreign', async () => {
    const manager = new LockManager({ store });
    await admin.set('lock:doc:1', 'somebody-else', 'PX', 30_000);
    expect(await manager.inspect('doc:1')).toMatchObject({ holder: null });
    await admin.set('lock:doc:2', 'for-ever');
    expect(await manager.inspect('doc:2')).toMatchObject({ holder: null, remainingMs: undefined });
  });

  it('mints the fence from the server clock, and above the last one when that clock is behind', async () => {
    const [seconds = 0] = (await admin.time()).map(Number);
    const ahead = BigInt(seconds + 3_600) * 1_000_000n;
    await admin.set('{lock:doc:1}:fence', ahead.toString());
    const reply = await store.tryAcquire('doc:1', 'token', 1_000);
    expect(reply).toMatchObject({ status: 'granted', fence: ahead + 1n });
    // The server's time, not the fence's.
    expect(reply).toMatchObject({ storeTimeMs: expect.closeTo(seconds * 1_000, -4) });
  });
});

describe('trouble is never a verdict', () => {
  const unavailable = { code: 'LOCK_UNAVAILABLE', mayHaveRun: false };

  it.each([
    ['a lock key of another type', (): unknown => admin.rpush('lock:doc:1', 'x')],
    ['a fence that is no number', () => admin.set('{lock:doc:1}:fence', 'twelve')],
    ['a fence beyond 2^53', () => admin.set('{lock:doc:1}:fence', '9007199254740993')],
    ['a fence of another type', () => admin.rpush('{lock:doc:1}:fence', 'x')],
  ])('%s', async (_what, spoil) => {
    await spoil();
    await expect(store.tryAcquire('doc:1', 'token', 1_000)).rejects.toMatchObject(unavailable);
    expect(await admin.get('lock:doc:1').catch(() => 'other type')).not.toBe('token');
  });

  it('one spoilt key of a batch leaves the others alone', async () => {
    await store.tryAcquire('doc:1', 'token', 5_000);
    await admin.rpush('lock:doc:2', 'x');
    const outcomes = await store.renew([
      { name: 'doc:2', token: 'token', ttlMs: 60_000 },
      { name: 'doc:1', token: 'token', ttlMs: 60_000 },
    ]);
    expect(outcomes).toEqual(['unknown', 'renewed']);
    expect(await admin.pttl('lock:doc:1')).toBeGreaterThan(50_000);
  });

  it('a read-only replica errs in every operation', async () => {
    await store.tryAcquire('doc:1', 'token', 30_000);
    await admin.replicaof('127.0.0.1', 1);
    try {
      // A role change drops this client's connection; every answer before and after is trouble.
      for (const ask of [
        () => store.tryAcquire('doc:1', 'other', 1_000),
        () => store.tryAcquire('doc:9', 'other', 1_000),
        () => store.release('doc:1', 'other', 'process'),
        () => store.release('doc:9', 'other', 'process'),
        () => store.inspect('doc:9'),
      ]) {
        await expect(ask()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      }
      await eventually(() => client.status === 'ready');
      const outcomes = await store.renew([{ name: 'doc:1', token: 'other', ttlMs: 1_000 }]);
      expect(outcomes).toEqual(['unknown']);
    } finally {
      await admin.replicaof('NO', 'ONE');
    }
    await eventually(async () => (await store.release('doc:1', 'token', 'process')) === 'released');
  });

  it('a server that is out of memory refuses grants and still renews and releases', async () => {
    await store.tryAcquire('doc:1', 'token', 5_000);
    await admin.config('SET', 'maxmemory', '1');
    try {
      await expect(store.tryAcquire('doc:2', 'token', 1_000)).rejects.toMatchObject(unavailable);
      expect(await store.renew([{ name: 'doc:1', token: 'token', ttlMs: 9_000 }])).toEqual([
        'renewed',
      ]);
      expect(await store.release('doc:1', 'token', 'process')).toBe('released');
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
  });

  it('a server that has forgotten its scripts is given them again', async () => {
    await store.tryAcquire('doc:1', 'token', 30_000);
    await admin.script('FLUSH');
    expect(await store.renew([{ name: 'doc:1', token: 'token', ttlMs: 30_000 }])).toEqual([
      'renewed',
    ]);
    await admin.script('FLUSH');
    expect(await store.release('doc:1', 'token', 'process')).toBe('released');
  });

  it('a client without rights on the channel still releases', async () => {
    await admin.call('ACL', 'SETUSER', 'mute', 'on', 'nopass', '~*', '+@all', 'resetchannels');
    const mute = new Redis(server.port, server.host, {
      ...redisLockClientOptions,
      username: 'mute',
      password: 'x',
    });
    await eventually(() => mute.status === 'ready');
    const muteStore = new RedisLockStore({ client: mute });
    await muteStore.tryAcquire('doc:1', 'token', 30_000);
    expect(await muteStore.release('doc:1', 'token', 'process')).toBe('released');
    expect(await admin.exists('lock:doc:1')).toBe(0);
    await muteStore.close();
    mute.disconnect();
  });
});

describe('a server that spreads its keys over slots', () => {
  it('makes the store renew one lock a script, for good', async () => {
    const spread = await startRedis({ args: ['--cluster-enabled', 'yes'] });
    const one = new Redis(spread.port, spread.host, { ...redisLockClientOptions });
    await eventually(() => one.status === 'ready');
    await one.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => (await one.cluster('INFO')).includes('cluster_state:ok'));
    const spreadStore = new RedisLockStore({ client: one });
    const keySlots = ['lock:doc:1', '{lock:doc:1}:fence', '{lock:doc:1}:queue'].map((key) =>
      one.cluster('KEYSLOT', key),
    );
    expect(new Set(await Promise.all(keySlots)).size).toBe(1);
    const renewals = ['doc:1', 'doc:2', 'doc:3'].map((name) => ({
      name,
      token: 't',
      ttlMs: 9_000,
    }));
    for (const { name, token } of renewals) await spreadStore.tryAcquire(name, token, 5_000);
    for (let round = 0; round < 2; round += 1) {
      expect(await spreadStore.renew(renewals)).toEqual(['renewed', 'renewed', 'renewed']);
    }
    await spreadStore.close();
    one.disconnect();
    await spread.stop();
  });
});

describe('calls of one turn', () => {
  it('share commands, and each is answered for itself', async () => {
    await store.tryAcquire('doc:3', 'holder', 30_000);
    await admin.rpush('lock:doc:5', 'x');
    await admin.set('{lock:doc:7}:fence', 'twelve');
    await store.tryAcquire('doc:9', 'holder', 30_000);
    await store.tryAcquire('doc:9', 'x', 30_000, { process: 'waiter', ticket: undefined });
    await admin.del('lock:doc:9'); // free, and kept for the waiter
    await admin.config('RESETSTAT');
    const tries = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => store.tryAcquire(`doc:${n}`, `token-${n}`, 30_000)),
    );
    const verdicts = tries.map((one) =>
      one.status === 'fulfilled' ? one.value.status : one.reason.code,
    );
    const expected = Array.from({ length: 12 }, () => 'granted');
    expected[3] = expected[9] = 'busy';
    expected[5] = expected[7] = 'LOCK_UNAVAILABLE';
    expect(verdicts).toEqual(expected);
    expect(await admin.get('{lock:doc:7}:fence')).toBe('twelve');
    expect(await admin.exists('lock:doc:7')).toBe(0);
    for (const n of [0, 1, 11]) expect(await admin.get(`lock:doc:${n}`)).toBe(`token-${n}`);
    // One command for all, and one more for each that was out of the ordinary.
    const stats = await admin.info('commandstats');
    expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1])).toBeLessThanOrEqual(1 + 3 + 2);

    const releases = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => store.release(`doc:${n}`, `token-${n}`, 'process')),
    );
    const outcomes = releases.map((one) =>
      one.status === 'fulfilled' ? one.value : one.reason.code,
    );
    const released = Array.from({ length: 12 }, () => 'released');
    released[3] = released[7] = released[9] = 'not-held';
    released[5] = 'LOCK_UNAVAILABLE';
    expect(outcomes).toEqual(released);
    expect(await admin.get('lock:doc:3')).toBe('holder');
  });

  it('are refused as one where the server refuses all', async () => {
    await admin.config('SET', 'maxmemory', '1');
    try {
      const tries = await Promise.allSettled(
        ['doc:1', 'doc:2', 'doc:3'].map((name) => store.tryAcquire(name, 'token', 30_000)),
      );
      expect(tries.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    expect(await admin.keys('lock:*')).toEqual([]);
  });
});

describe('unusable clients are refused at start', () => {
  it.each([
    ['keyPrefix', { ...redisLockClientOptions, keyPrefix: 'app:' }],
    [
      'autoResendUnfulfilledCommands',
      { ...redisLockClientOptions, autoResendUnfulfilledCommands: true },
    ],
    ['enableOfflineQueue', { ...redisLockClientOptions, enableOfflineQueue: true }],
    ['maxRetriesPerRequest', { ...redisLockClientOptions, maxRetriesPerRequest: 20 }],
  ])('%s', (option, options) => {
    const unusable = new Redis({ ...options, lazyConnect: true });
    expect(() => new RedisLockStore({ client: unusable })).toThrow(option);
    unusable.disconnect();
  });

  it.each([
    ['enableOfflineQueue', { enableOfflineQueue: true }],
    ['retryDelayOnFailover', { retryDelayOnFailover: 100 }],
    ['clusterNodeRetryStrategy', { clusterNodeRetryStrategy: () => 100 }],
    ['keyPrefix', { keyPrefix: 'app:' }],
    ['keyPrefix', { redisOptions: { keyPrefix: 'app:' } }],
  ])('of a cluster: %s', (option, options) => {
    const unusable = new Cluster([server], {
      ...redisLockClusterOptions,
      ...options,
      lazyConnect: true,
    });
    expect(() => new RedisLockStore({ client: unusable })).toThrow(option);
    unusable.disconnect();
  });

  it('a prefix that could break the hash tag', () => {
    expect(() => new RedisLockStore({ client, prefix: 'lock{:' })).toThrow(/prefix/);
  });
});

describe('scripts', () => {
  const directory = new URL('../../src/lock/stores/redis/', import.meta.url);
  const files = readdirSync(directory).filter((file) => file.endsWith('.lua'));

  it.each(files)('%s names its keys, arguments and answers', (file) => {
    const text = readFileSync(new URL(file, directory), 'utf8');
    for (const word of [/-- .*KEYS/, /-- .*ARGV/, /-- Returns/]) expect(text).toMatch(word);
    expect(text).not.toMatch(/^#!/); // under memory pressure a server must still let us renew and release
  });

  const scripts = {
    ...lockScripts(`odd "prefix\\`),
    ...Object.fromEntries(
      Object.entries(permitScripts('lock:wake:', countedRoom(1))).map(([name, script]) => [
        `permits: ${name}`,
        script,
      ]),
    ),
  };

  it.each(Object.entries(scripts))('%s loads into a real server', async (_name, { text }) => {
    expect(await admin.script('LOAD', text)).toMatch(/^[0-9a-f]{40}$/);
  });
});
