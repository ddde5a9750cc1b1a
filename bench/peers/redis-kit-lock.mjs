import kit from '@redis-kit/lock';
import { createClient } from 'redis';
import { TTL_MS } from '../lib/peers.mjs';

const { Redlock } = kit;

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: '@redis-kit/lock',
  package: '@redis-kit/lock',
  driver: 'redis',
  settings:
    'one node; default retry delay (200 ms and up to 100 ms of jitter), no limit of attempts',
  renews: true,
};

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export async function open({ port, pollMs }) {
  const client = createClient({ socket: { host: '127.0.0.1', port } });
  client.on('error', (error) => console.error(error));
  await client.connect();
  const retry = pollMs === undefined ? {} : { retryDelayMs: pollMs, retryJitterMs: pollMs / 2 };
  const redlock = new Redlock([client], { maxRetryAttempts: Infinity, ...retry });
  return {
    acquire: (name) => redlock.acquire(name, TTL_MS),
    wait: (name) => redlock.acquire(name, TTL_MS),
    release: (lock) => lock.release(),
    async hold(name, ttlMs) {
      const lock = await redlock.acquire(name, ttlMs);
      lock.startAutoExtension();
      return async () => {
        await lock.release();
      };
    },
  };
}
