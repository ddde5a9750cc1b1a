import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { holdWithin } from '../lib/hold-within.mjs';
import { TTL_MS } from '../lib/peers.mjs';

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: 'redlock',
  package: 'redlock',
  driver: 'ioredis',
  settings:
    'one node; default retry delay (200 ms, 100 ms of jitter), no limit of attempts; holds with `using`',
  renews: true,
};

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export async function open({ port, pollMs }) {
  const client = new Redis({ host: '127.0.0.1', port });
  const retry = pollMs === undefined ? {} : { retryDelay: pollMs, retryJitter: pollMs / 2 };
  const redlock = new Redlock([client], { retryCount: -1, ...retry });
  return {
    acquire: (name) => redlock.acquire([name], TTL_MS),
    wait: (name) => redlock.acquire([name], TTL_MS),
    release: (lock) => lock.release(),
    hold: (name, ttlMs) => holdWithin((work) => redlock.using([name], ttlMs, work)),
  };
}
