import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import {
  assertUsableClient,
  redisLockClientOptions,
  redisLockClusterOptions,
} from './redis-client-options.js';

const sha = '23532a88412a46116bf9d4dd465322bc6585baaa';

describe('the client leaves a server', () => {
  it.each([
    ["READONLY You can't write against a read only replica.", 1],
    [`READONLY You can't write against a read only replica. script: ${sha}, on @user_script:1.`, 1],
    [
      `ERR Error running script (call to f_${sha}): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.`,
      1,
    ],
    [`WRONGTYPE Operation against a key script: ${sha}, on @user_script:1.`, false],
  ])('that says: %s (%s)', (message, expected) => {
    expect(redisLockClientOptions.reconnectOnError(new Error(message))).toBe(expected);
  });
});

describe('a client', () => {
  it.each([
    ['stringNumbers', true],
    ['replyMapping', 'resp3'],
    ['keyPrefix', 'app:'],
  ])('with %s: %s is refused, also where each node of a cluster has it', (option, value) => {
    const mine = { [option]: value };
    const one = new Redis({ ...redisLockClientOptions, ...mine, lazyConnect: true });
    const redisOptions = { ...redisLockClusterOptions.redisOptions, ...mine };
    const options = { ...redisLockClusterOptions, redisOptions, lazyConnect: true };
    const cluster = new Cluster([{ port: 1 }], options);
    for (const client of [one, cluster]) {
      expect(() => assertUsableClient(client)).toThrow(`The Redis client has ${option}`);
    }
  });

  it('with the options for locks, and those that change no reply, is taken', () => {
    const options = { ...redisLockClientOptions, lazyConnect: true } as const;
    assertUsableClient(new Redis(options));
    assertUsableClient(new Redis({ ...options, protocol: 2, replyMapping: 'legacy' }));
    assertUsableClient(
      new Cluster([{ port: 1 }], { ...redisLockClusterOptions, lazyConnect: true }),
    );
  });
});
