import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  fingerprintOf,
  KeyPool,
  type PoolTerms,
  RedisPoolStore,
} from '../../../src/key-pool/index.js';
import { poolScripts } from '../../../src/key-pool/stores/redis/pool-scripts.js';
import { poolStoreContract } from '../../../src/key-pool/testing/pool-store-contract.js';
import { redisLockClientOptions } from '../../../src/lock/index.js';
import { semaphoreContract } from '../../../src/lock/testing/semaphore-contract.js';
import { eventually } from '../../support/eventually.js';
import { realTime } from '../../support/real-time.js';
import { type RedisServer, startRedis } from '../../support/redis.js';

const keys = Array.from({ length: 10 }, (_, n) => `sk-secret-key-number-${n}`);

let server: RedisServer;
let client: Redis;
let admin: Redis;
let stores: RedisPoolStore[] = [];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
  client = new Redis(server.port, server.host, {
    ...redisLockClientOptions,
    disconnectTimeout: 100,
  });
  await eventually(() => client.status === 'ready');
});

beforeEach(() => admin.flushall());

afterAll(async () => {
  for (const one of stores) one.close();
  client.disconnect();
  admin.disconnect();
  await server.stop();
});

function store(terms: PoolTerms): RedisPoolStore {
  const made = new RedisPoolStore({ client, terms });
  stores.push(made);
  return made;
}

function replica(ttlMs = 3_000): KeyPool {
  const members = keys.map(fingerprintOf);
  return new KeyPool({ name: 'llm', keys, store: store({ members, concurrency: 1 }), ttlMs });
}

describe('RedisPoolStore', () => {
  it.each(poolStoreContract.filter(({ needsClock }) => !needsClock))('$promise', ({ verify }) =>
    verify({ store, advance: undefined }),
  );

  it.each(semaphoreContract)('as a semaphore: $promise', ({ verify }) =>
    verify({
      semaphores: (concurrency) => store({ members: ['a'], concurrency }),
      elapse: realTime,
    }),
  );
});

describe('a pool on a real Redis', () => {
  it('never has a key in two hands, over replicas and more callers than keys', async () => {
    const replicas = [replica(), replica(), replica()];
    const inUse = new Map<string, number>();
    let most = 0;
    await Promise.all(
      Array.from({ length: 120 }, async (_, n) => {
        const { key, lease } = await (replicas[n % 3] as KeyPool).take({ waitMs: 60_000 });
        const now = (inUse.get(key) ?? 0) + 1;
        inUse.set(key, now);
        most = Math.max(most, now);
        await realTime(n % 5);
        lease.assertHeld();
        inUse.set(key, (inUse.get(key) ?? 0) - 1);
        await lease.release();
      }),
    );
    expect(most).toBe(1);
    expect([...inUse.keys()].sort()).toEqual([...keys].sort());
    await Promise.all(replicas.map((one) => one.shutdown(0)));
  });

  it('holds no key, neither in names nor in values', async () => {
    const pool = replica();
    const taken = await pool.take({ waitMs: 0 });
    await pool.rest(taken, 60_000);
    const refused = await pool.take({ waitMs: 0 });
    await pool.refuse(refused, '401');
    const dump: string[] = [];
    for (const key of await admin.keys('*')) {
      const type = await admin.type(key);
      const value =
        type === 'hash'
          ? JSON.stringify(await admin.hgetall(key))
          : type === 'zset'
            ? (await admin.zrange(key, 0, '-1')).join()
            : await admin.get(key);
      dump.push(`${key} ${value}`);
    }
    expect(dump.join('\n')).toContain(taken.member);
    expect(dump.join('\n')).not.toContain('secret');
    expect(dump.length).toBeGreaterThan(3);
    await pool.shutdown(0);
  });

  it('never forgets that a key was refused, and forgets all else after a while', async () => {
    const pool = replica();
    const taken = await pool.take({ waitMs: 0 });
    const [known = ''] = await admin.keys('*:permits:room');
    expect(await admin.pttl(known)).toBeGreaterThan(0);
    await pool.refuse(taken, '401');
    expect(await admin.pttl(known)).toBe(-1);
    await pool.rest(await pool.take({ waitMs: 0 }), 60_000);
    expect(await admin.pttl(known)).toBe(-1);
    await pool.readmit(taken.member);
    expect(await admin.pttl(known)).toBeGreaterThan(0);
    await pool.shutdown(0);
  });

  it('is away when its server is, and never guesses', async () => {
    const pool = replica();
    const pausing = admin.call('CLIENT', 'PAUSE', '2000', 'ALL');
    await expect(pool.take({ waitMs: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await pausing;
    await eventually(async () => (await pool.inspect()).members.every(({ inUse }) => inUse === 0));
    await pool.shutdown(0);
  });
});

describe('scripts', () => {
  const directory = new URL('../../../src/key-pool/stores/redis/', import.meta.url);
  const files = readdirSync(directory).filter((file) => file.endsWith('.lua'));

  it.each(files)('%s names its keys, arguments and answers', (file) => {
    const text = readFileSync(new URL(file, directory), 'utf8');
    for (const word of [/-- .*KEYS/, /-- .*ARGV/, /-- Returns/]) expect(text).toMatch(word);
  });

  it.each(Object.entries(poolScripts))('%s loads into a real server', async (_name, { text }) => {
    expect(await admin.script('LOAD', text)).toMatch(/^[0-9a-f]{40}$/);
  });
});
