import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
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

  it('a demoted server is left by a process that only renews', async () => {
    await store.tryAcquire('doc:1', 'token', 30_000);
    let left = 0;
    const onReconnecting = () => (left += 1);
    client.on('reconnecting', onReconnecting);
    await admin.replicaof('127.0.0.1', 1);
    try {
      const renewals = ['doc:1', 'doc:2'].map((name) => ({ name, token: 'token', ttlMs: 30_000 }));
      expect(await store.renew(renewals)).toEqual(['unknown', 'unknown']);
      await eventually(() => left > 0);
    } finally {
      client.off('reconnecting', onReconnecting);
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
