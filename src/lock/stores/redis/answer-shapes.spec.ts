import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LockUnavailableError } from '../../core/lock.errors.js';
import { RedisTickMarks } from '../../ticks/redis-tick-marks.js';
import { FencedKeys } from './fenced-keys.js';
import { redisLockClientOptions } from './redis-client-options.js';
import { RedisLockStore } from './redis-lock-store.js';

const token = 'dHJ5MjAxMjM0NTY3ODkw.process.label';
const place = { process: 'process', ticket: undefined };

/** A client whose server answers every script with `answer`. */
function clientThatHears(answer: unknown): Redis {
  const client = {
    status: 'ready',
    options: redisLockClientOptions,
    call: async () => answer,
    on: () => client,
  };
  return client as unknown as Redis;
}

const odd = [
  ...['1700000000000000', 'OK', '', null, undefined, true, NaN, -1, 7, {}],
  ...[['1', '2', '3', '4', '5'], ['0', '-1', '-1', '0', ''], [1], [0], [2, 3, 4, 5, 6], [null]],
  ...[{ '0': 0 }, [NaN, NaN, NaN, NaN], [0, null, null, null, null]],
];

describe('an answer that no script gives', () => {
  it.each(odd.map((answer) => [answer]))('is unavailable, and never busy: %j', async (answer) => {
    const client = clientThatHears(answer);
    const store = new RedisLockStore({ client });
    const permits = store.semaphores(2);
    const asked = [
      store.tryAcquireAll([{ name: 'a', token }], 1_000),
      store.inspect('a'),
      store.revoke('a', token, 'process'),
      permits.tryAcquire('a', token, 1_000),
      new FencedKeys(client).set('a', 'b', 1n),
      new RedisTickMarks({ client }).claim({ job: 'a', tickMs: 1, fence: 1n, done: true }),
      ...[store, permits].map((one) => one.release('a', token, 'process')),
      // A positive number is how a fence is answered.
      ...(answer === 7 ? [] : [store.tryAcquire('a', token, 1_000)]),
      ...(answer === 7 ? [] : [store.tryAcquire('a', token, 1_000, place)]),
    ];
    for (const one of asked) await expect(one).rejects.toBeInstanceOf(LockUnavailableError);
    const isOfRenewals = Array.isArray(answer) && answer.length === 1 && answer[0] !== null;
    for (const one of isOfRenewals ? [] : [store, permits]) {
      expect(await one.renew([{ name: 'a', token, ttlMs: 1_000 }])).toEqual(['unknown']);
    }
  });

  it('may come after the command has run', async () => {
    const asked = new RedisLockStore({ client: clientThatHears('OK') }).tryAcquire(
      'a',
      token,
      1_000,
    );
    await expect(asked).rejects.toMatchObject({
      mayHaveRun: true,
      message: expect.stringContaining('changes replies'),
    });
  });

  it('to calls that share a command fails each of them', async () => {
    const store = new RedisLockStore({ client: clientThatHears(null) });
    const asked = ['a', 'b'].map((name) => store.tryAcquire(name, token, 1_000));
    for (const one of await Promise.allSettled(asked)) expect(one.status).toBe('rejected');
  });
});
