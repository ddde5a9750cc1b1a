import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { permitScripts } from '../../src/lock/stores/redis/permit-scripts.js';
import { countedRoom } from '../../src/lock/stores/redis/redis-permit-store.js';
import { lockScripts } from '../../src/lock/stores/redis/scripts.js';
import { eventually } from '../support/eventually.js';
import { type RedisLocks, startRedisLocks } from '../support/redis-locks.js';
import { startRedis } from '../support/redis.js';

let redis: RedisLocks;
let admin: Redis;
let store: RedisLockStore;

beforeAll(async () => {
  redis = await startRedisLocks();
  ({ admin, store } = redis);
});

afterAll(() => redis.stop());

beforeEach(() => admin.flushall());

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

describe('a server that spreads its keys over slots', () => {
  it('makes the store renew one lock a script, for good', async () => {
    const spread = await startRedis({ args: ['--cluster-enabled', 'yes'] });
    const one = new Redis(spread.port, spread.host, { ...redisLockClientOptions });
    await eventually(() => one.status === 'ready');
    await one.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => (await one.cluster('INFO')).includes('cluster_state:ok'));
    const spreadStore = new RedisLockStore({ client: one });
    const keySlots = ['lock:doc:1', '{lock:doc:1}:fence', '{lock:doc:1}:waiters'].map((key) =>
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
