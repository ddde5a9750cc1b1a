import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { pause } from './clock.mjs';
import { TTL_MS } from './peers.mjs';

const DEFAULT_POLL_MS = 50;

const release = {
  numberOfKeys: 1,
  lua: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
};

/**
 * The classic recipe without a library: SET NX PX with a random token, compare-and-delete in Lua.
 * No renewal, no fence, no order.
 * @param {import('./peers.mjs').OpenOptions} options
 * @param {boolean} enableAutoPipelining
 * @returns {import('./peers.mjs').Peer}
 */
export function openPlain({ port, pollMs = DEFAULT_POLL_MS }, enableAutoPipelining) {
  const client = new Redis({ host: '127.0.0.1', port, enableAutoPipelining });
  client.defineCommand('releaseLock', release);
  const take = async (key) => {
    const token = randomUUID();
    const reply = await client.set(key, token, 'PX', TTL_MS, 'NX');
    return reply === 'OK' ? { key, token } : undefined;
  };
  return {
    async acquire(name) {
      const handle = await take(name);
      if (!handle) throw new Error(`${name} is held`);
      return handle;
    },
    async wait(name) {
      for (;;) {
        const handle = await take(name);
        if (handle) return handle;
        await pause(pollMs);
      }
    },
    release: ({ key, token }) => client.releaseLock(key, token),
  };
}
