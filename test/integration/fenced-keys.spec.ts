import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { FencedKeys, LockOptionsError, LockUnavailableError } from '../../src/lock/index.js';
import { type RedisServer, startRedis } from '../support/redis.js';

let server: RedisServer;
let client: Redis;
let data: FencedKeys;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
  data = new FencedKeys(client);
});

beforeEach(() => client.flushall());

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

describe('data in Redis that is written with a fence', () => {
  const [older, newer] = [1_795_972_429_000_001n, 1_795_972_429_000_002n];

  it('takes writes of the same and of newer holders', async () => {
    expect(await data.set('report', 'a', older)).toBe(true);
    expect(await data.set('report', 'b', older)).toBe(true);
    expect(await data.set('report', 'c', newer)).toBe(true);
    expect(await client.get('report')).toBe('c');
  });

  it('refuses a late writer by a single microsecond, and changes nothing', async () => {
    await data.set('report', 'new', newer);
    expect(await data.set('report', 'late', older)).toBe(false);
    expect(await data.delete('report', older)).toBe(false);
    expect(await client.get('report')).toBe('new');
    expect(await client.get('{report}:fence')).toBe(String(newer));
  });

  it('is not brought back by a late writer after its deletion', async () => {
    await data.set('report', 'old', older);
    expect(await data.delete('report', newer)).toBe(true);
    expect(await data.set('report', 'late', older)).toBe(false);
    expect(await client.exists('report')).toBe(0);
  });

  it.each([
    [2n ** 60n, 2n ** 60n + 1n], // the same double
    [999n, 1_000n],
    [10n ** 30n - 1n, 10n ** 30n],
  ])('compares fences of any length exactly: %s and %s', async (before, after) => {
    expect(await data.set('report', 'new', after)).toBe(true);
    expect(await data.set('report', 'late', before)).toBe(false);
    expect(await data.set('report', 'newer', after)).toBe(true);
    expect(await client.get('report')).toBe('newer');
  });

  it.each([
    ['a word', () => client.set('{report}:fence', 'twelve')],
    ['nothing', () => client.set('{report}:fence', '')],
    ['a negative number', () => client.set('{report}:fence', '-1')],
    ['another type', () => client.rpush('{report}:fence', '1')],
  ])('says what to do where %s stands for its fence', async (_what, spoil) => {
    await client.set('report', 'before');
    await spoil();
    const error = await data.set('report', 'x', newer).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({
      mayHaveRun: false,
      message: expect.stringMatching(/{report}:fence.*not a fence.*Delete that key/),
    });
    expect(await client.get('report')).toBe('before');
  });

  it('is trouble of the store where the server errs', async () => {
    await client.replicaof('127.0.0.1', 1);
    try {
      await expect(data.delete('report', newer)).rejects.toThrow(LockUnavailableError);
    } finally {
      await client.replicaof('NO', 'ONE');
    }
  });

  it('takes no fence below zero', async () => {
    await expect(data.set('report', 'x', -1n)).rejects.toThrow(LockOptionsError);
  });

  it('has no braces in its keys', async () => {
    await expect(data.set('a{b}', 'x', newer)).rejects.toThrow(LockOptionsError);
  });
});
