import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../dist/lock/index.js';
import { TTL_MS } from '../lib/peers.mjs';

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: 'doclock',
  package: 'doclock',
  driver: 'ioredis',
  settings: 'defaults; `waitMs` of ten minutes where it waits. Its fence is part of every pair.',
  renews: true,
};

const FOR_EVER_MS = 600_000;

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export async function open({ port }) {
  const client = new Redis({ ...redisLockClientOptions, host: '127.0.0.1', port });
  await new Promise((resolve) => client.once('ready', resolve));
  const locks = new LockManager({
    store: new RedisLockStore({ client }),
    defaults: { ttlMs: TTL_MS },
  });
  await locks.start();
  return {
    acquire: (name) => locks.acquire(name),
    wait: (name) => locks.acquire(name, { waitMs: FOR_EVER_MS }),
    release: (lease) => lease.release(),
    async hold(name, ttlMs) {
      const lease = await locks.acquire(name, { ttlMs });
      return async () => {
        await lease.release();
      };
    },
  };
}
