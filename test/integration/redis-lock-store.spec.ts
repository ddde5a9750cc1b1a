import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import {
  LockManager,
  redisLockClientOptions,
  redisLockClusterOptions,
  RedisLockStore,
} from '../../src/lock/index.js';
import { lockScripts } from '../../src/lock/stores/redis/scripts.js';
import { semaphoreContract } from '../../src/lock/testing/semaphore-contract.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { eventually } from '../support/eventually.js';
import { realTime } from '../support/real-time.js';
import { type RedisLocks, startRedisLocks } from '../support/redis-locks.js';
import type { RedisServer } from '../support/redis.js';

let redis: RedisLocks;
let server: RedisServer;
let client: Redis;
let admin: Redis;
let store: RedisLockStore;

beforeAll(async () => {
  redis = await startRedisLocks();
  ({ server, client, admin, store } = redis);
});

afterAll(() => redis.stop());

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

  it('leaves the life of a fence alone that it could not go on from', async () => {
    const ahead = BigInt(Date.now() + 3 * 86_400_000) * 1_000n;
    const endsAtS = Number(ahead / 1_000_000n) + 86_400;
    await admin.set('{lock:doc:1}:fence', String(ahead), 'EXAT', endsAtS);
    await admin.set('{lock:doc:2}:fence', 'twelve');
    const call = { keys: ['lock:doc:1', 'lock:doc:2'], args: ['token', 1_000, 'token', 1_000] };
    expect(await lockScripts('lock:wake:').acquireMany.run(client, call)).toEqual([0, 0]);
    expect(await admin.get('{lock:doc:1}:fence')).toBe(String(ahead));
    expect(await admin.call('EXPIRETIME', '{lock:doc:1}:fence')).toBe(endsAtS);
    expect(await admin.get('{lock:doc:2}:fence')).toBe('twelve');
    expect(await admin.ttl('{lock:doc:2}:fence')).toBe(-1);
  });

  it.each(['twelve', '1e300', '-5', 'inf', 'nan', '9007199254740993'])(
    'keeps a fence that is none until somebody looks: %s',
    async (spoilt) => {
      await admin.set('{lock:doc:1}:fence', spoilt);
      await expect(store.tryAcquire('doc:1', 'token', 1_000)).rejects.toThrow(/not a fence/);
      expect(await admin.get('{lock:doc:1}:fence')).toBe(spoilt);
      expect(await admin.ttl('{lock:doc:1}:fence')).toBe(-1);
    },
  );

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

describe('messages name their lock, whatever it is called', () => {
  it.each(['doc', '!doc', '?doc', '+doc'])('with an empty prefix: %s', async (name) => {
    const bare = new RedisLockStore({ client, prefix: '' });
    const heard: unknown[][] = [];
    bare.onWake('waiter', (...message) => heard.push(message));
    try {
      await eventually(() => heard.length === 1); // it is subscribed
      await bare.tryAcquire(name, 'first', 30_000);
      await bare.tryAcquire(name, 'second', 30_000, { process: 'waiter', ticket: undefined });
      await bare.revoke(name, 'first', 'waiter');
      await bare.release(name, 'first', 'holder');
      await eventually(() => heard.length === 3);
      expect(heard.slice(1)).toEqual([
        [name, 'revoked', 'first'],
        [name, 'turn', undefined],
      ]);
    } finally {
      await bare.close();
    }
  });

  it('or have those who wait look at everything, where they name none', async () => {
    const heard: [name: string | undefined, role: string][] = [];
    const stop = store.onWake('waiter', (what, role) => heard.push([what, role]));
    await eventually(() => heard.length === 1);
    await admin.publish('lock:wake:waiter', 'lock:doc');
    await eventually(() => heard.length === 2);
    expect(heard[1]).toEqual([undefined, 'turn']);
    stop();
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
