import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisTickMarks, redisLockClientOptions } from '../../src/lock/index.js';
import { LuaScript } from '../../src/lock/stores/redis/lua-script.js';
import { tickMarksContract } from '../../src/lock/testing/tick-marks-contract.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, startRedis } from '../support/redis.js';

const claim = {
  job: 'nightly',
  tickMs: 1_767_236_400_000,
  fence: 1_767_236_400_000_123n,
  done: true,
};

let server: RedisServer;
let client: Redis;
let admin: Redis;
let marks: RedisTickMarks;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
  client = new Redis(server.port, server.host, { ...redisLockClientOptions });
  marks = new RedisTickMarks({ client });
  await eventually(() => client.status === 'ready');
});

afterAll(async () => {
  client.disconnect();
  admin.disconnect();
  await server.stop();
});

beforeEach(() => admin.flushall());

describe('RedisTickMarks keeps the contract', () => {
  it.each(tickMarksContract)('$promise', ({ verify }) => verify(marks));
});

describe('marks in Redis', () => {
  it('are one hash per job that never expires', async () => {
    await marks.claim(claim);
    expect(await admin.keys('*')).toEqual(['ticks:nightly']);
    expect(await admin.pttl('ticks:nightly')).toBe(-1);
    expect(await admin.hgetall('ticks:nightly')).toEqual({
      tick: '1767236400000',
      fence: '1767236400000123',
    });
  });

  it('come back when the server has forgotten its scripts', async () => {
    await admin.script('FLUSH');
    expect(await marks.claim(claim)).toBe('claimed');
  });

  it.each([
    ['a key of another type', () => admin.set('ticks:nightly', 'x')],
    ['a tick that is no number', () => admin.hset('ticks:nightly', 'tick', 'soon')],
    ['a fence that is no number', () => admin.hset('ticks:nightly', 'fence', '-1')],
  ])('answer %s with an error, never with a verdict', async (_what, spoil) => {
    await spoil();
    await expect(marks.claim(claim)).rejects.toThrow(/DOCLOCK|WRONGTYPE/);
  });

  it('have no verdict on a read-only replica', async () => {
    await marks.claim(claim);
    await admin.replicaof('127.0.0.1', 1);
    const reader = new Redis(server.port, server.host); // the change of role drops older connections
    try {
      for (const changed of [{}, { fence: claim.fence - 1n }, { fence: claim.fence + 1n }]) {
        const asked = new RedisTickMarks({ client: reader }).claim({ ...claim, ...changed });
        await expect(asked).rejects.toThrow(/READONLY/);
      }
    } finally {
      reader.disconnect();
      await admin.replicaof('NO', 'ONE');
    }
    await eventually(async () => (await marks.claim(claim)) === 'claimed');
  });

  it('put both keys of the script into one slot, and say what they are', async () => {
    const { text } = new LuaScript({ files: ['../../ticks/claim-tick.lua'] });
    expect(await admin.script('LOAD', text)).toMatch(/^[0-9a-f]{40}$/);
    expect(text).toMatch(/-- KEYS[^]*-- ARGV[^]*-- Returns/);
    expect(() => new RedisTickMarks({ client, prefix: 'a{b' })).toThrow(/prefix/);
  });
});
