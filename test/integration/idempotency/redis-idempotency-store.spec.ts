import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  IdempotencyUnavailableError,
  RedisIdempotencyStore,
} from '../../../src/idempotency/index.js';
import { idempotencyStoreContract } from '../../../src/idempotency/testing/idempotency-store-contract.js';
import { redisLockClientOptions } from '../../../src/lock/index.js';
import { LuaScript } from '../../../src/lock/store-kit.js';
import { eventually } from '../../support/eventually.js';
import { type RedisServer, startRedis } from '../../support/redis.js';

const begin = { fingerprint: 'a', fence: 1_767_236_400_000_123n, nowMs: 0 };
const answer = { status: 200, headers: {}, body: '1' };

let server: RedisServer;
let client: Redis;
let admin: Redis;
let store: RedisIdempotencyStore;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
  client = new Redis(server.port, server.host, { ...redisLockClientOptions });
  client.on('error', () => 'a test drops connections on purpose');
  store = new RedisIdempotencyStore({ client });
  await eventually(() => client.status === 'ready');
});

afterAll(async () => {
  client?.disconnect();
  admin?.disconnect();
  await server?.stop();
});

beforeEach(() => admin.flushall());

describe('RedisIdempotencyStore keeps the contract', () => {
  it.each(idempotencyStoreContract)('$promise', ({ verify }) => verify(store));
});

describe('idempotency records in Redis', () => {
  it('are one hash each that expires, counted again from the end of the work', async () => {
    await store.begin('one', begin);
    expect(await admin.keys('*')).toEqual(['idempotency:one']);
    expect(await admin.pttl('idempotency:one')).toBeGreaterThan(600_000);
    await store.finish('one', { fence: begin.fence, answer, ttlMs: 600_000, nowMs: 0 });
    const lifeMs = await admin.pttl('idempotency:one');
    expect(lifeMs).toBeGreaterThan(500_000);
    expect(lifeMs).toBeLessThanOrEqual(600_000);
  });

  it('come back when the server has forgotten its scripts', async () => {
    await admin.script('FLUSH');
    expect(await store.begin('one', begin)).toBe('begun');
  });

  it.each([
    ['a key of another type', () => admin.set('idempotency:one', 'x')],
    ['a fence that is no number', () => admin.hset('idempotency:one', 'fence', '-1')],
  ])('answer %s as trouble, never with a verdict', async (_what, spoil) => {
    await spoil();
    await expect(store.begin('one', begin)).rejects.toThrow(IdempotencyUnavailableError);
  });

  it('have no verdict on a read-only replica', async () => {
    await store.begin('begun', begin);
    await store.begin('finished', begin);
    await store.finish('finished', { fence: begin.fence, answer, ttlMs: 60_000, nowMs: 0 });
    await admin.replicaof('127.0.0.1', 1);
    const reader = new Redis(server.port, server.host); // the change of role drops older connections
    const replica = new RedisIdempotencyStore({ client: reader, commandTimeoutMs: 10_000 });
    const older = { ...begin, fence: begin.fence - 1n };
    try {
      for (const asked of [
        () => replica.begin('new', begin),
        () => replica.begin('finished', begin),
        () => replica.begin('begun', older),
        () => replica.begin('begun', { ...begin, fingerprint: 'b' }),
        () => replica.finish('begun', { fence: older.fence, answer, ttlMs: 60_000, nowMs: 0 }),
        () => replica.drop('begun', older.fence),
      ]) {
        await expect(asked()).rejects.toThrow(/READONLY/);
      }
    } finally {
      reader.disconnect();
      await admin.replicaof('NO', 'ONE');
    }
    await eventually(async () => (await store.begin('later', begin)) === 'begun');
  });

  it('are unavailable, and not for ever, while the server is frozen', async () => {
    const quick = new RedisIdempotencyStore({ client, commandTimeoutMs: 50 });
    await server.pause();
    try {
      await expect(quick.begin('one', begin)).rejects.toThrow(IdempotencyUnavailableError);
      await expect(quick.find('one')).rejects.toThrow(IdempotencyUnavailableError);
    } finally {
      await server.resume();
    }
    await eventually(async () => (await store.begin('one', begin)) === 'begun');
  });

  it('have scripts that load, and say what they are', async () => {
    const folder = new URL('../../../src/idempotency/stores/redis/', import.meta.url);
    const files = readdirSync(folder).filter((file) => file.endsWith('.lua'));
    expect(files).toHaveLength(3);
    for (const file of files) {
      const { text } = new LuaScript({ files: [new URL(file, folder).href] });
      expect(await admin.script('LOAD', text)).toMatch(/^[0-9a-f]{40}$/);
      expect(text).toMatch(/-- KEYS[^]*-- ARGV[^]*-- Returns/);
    }
    expect(() => new RedisIdempotencyStore({ client, prefix: 'a{b' })).toThrow(/prefix/);
  });
});
