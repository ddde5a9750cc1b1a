import { Redis } from 'ioredis';
import semaphore from 'redis-semaphore';
import { TTL_MS } from '../lib/peers.mjs';

const { Mutex } = semaphore;

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: 'redis-semaphore',
  package: 'redis-semaphore',
  driver: 'ioredis',
  settings: '`Mutex`; default retry interval (10 ms) and refresh (0.8 of the TTL), no time limit',
  renews: true,
};

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export async function open({ port, pollMs }) {
  const client = new Redis({ host: '127.0.0.1', port });
  const retry = pollMs === undefined ? {} : { retryInterval: pollMs };
  const acquire = async (name, lockTimeout = TTL_MS) => {
    const mutex = new Mutex(client, name, { lockTimeout, acquireTimeout: Infinity, ...retry });
    await mutex.acquire();
    return mutex;
  };
  return {
    acquire: (name) => acquire(name),
    wait: (name) => acquire(name),
    release: (mutex) => mutex.release(),
    async hold(name, ttlMs) {
      const mutex = await acquire(name, ttlMs);
      return () => mutex.release();
    },
  };
}
