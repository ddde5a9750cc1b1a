import { Redis } from 'ioredis';
import { createLock, IoredisAdapter } from 'redlock-universal';
import { holdWithin } from '../lib/hold-within.mjs';
import { TTL_MS } from '../lib/peers.mjs';

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: 'redlock-universal',
  package: 'redlock-universal',
  driver: 'ioredis',
  settings:
    "`createLock` with `performance: 'lean'`, its fastest mode; default retry delay (100 ms), no limit of attempts; holds with `using`",
  renews: true,
};

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export async function open({ port, pollMs }) {
  const adapter = new IoredisAdapter(new Redis({ host: '127.0.0.1', port }));
  const retry = {
    retryAttempts: Number.MAX_SAFE_INTEGER,
    ...(pollMs === undefined ? {} : { retryDelay: pollMs }),
  };
  const lockOf = (key, ttl = TTL_MS) =>
    createLock({ adapter, key, ttl, performance: 'lean', ...retry });
  const acquire = async (name) => {
    const lock = lockOf(name);
    return { lock, handle: await lock.acquire() };
  };
  return {
    acquire,
    wait: acquire,
    release: ({ lock, handle }) => lock.release(handle),
    hold: (name, ttlMs) => holdWithin((work) => lockOf(name, ttlMs).using(work)),
  };
}
