import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { FencedKeys, LockOptionsError } from '../../src/lock/index.js';
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

  it('has no braces in its keys', async () => {
    await expect(data.set('a{b}', 'x', newer)).rejects.toThrow(LockOptionsError);
  });
});
