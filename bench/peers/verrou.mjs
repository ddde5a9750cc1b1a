import { Verrou } from '@verrou/core';
import { redisStore } from '@verrou/core/drivers/redis';
import { Redis } from 'ioredis-5';
import { TTL_MS } from '../lib/peers.mjs';

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: '@verrou/core',
  package: '@verrou/core',
  driver: 'ioredis-5',
  settings: 'ioredis 5, which it asks for; default retry delay (250 ms), no limit of attempts',
  renews: false,
};

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export async function open({ port, pollMs }) {
  const connection = new Redis({ host: '127.0.0.1', port });
  const verrou = new Verrou({
    default: 'redis',
    stores: { redis: { driver: redisStore({ connection }) } },
  });
  const retry = pollMs === undefined ? {} : { retry: { delay: pollMs } };
  const acquire = async (name) => {
    const lock = verrou.createLock(name, TTL_MS);
    if (!(await lock.acquire(retry))) throw new Error(`${name} is held`);
    return lock;
  };
  return { acquire, wait: acquire, release: (lock) => lock.release() };
}
