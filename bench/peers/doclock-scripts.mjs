import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { redisLockClientOptions } from '../../dist/lock/index.js';
import { lockScripts } from '../../dist/lock/stores/redis/scripts.js';
import { TTL_MS } from '../lib/peers.mjs';

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: 'doclock’s scripts alone',
  package: 'ioredis',
  settings:
    'the two scripts that a lock with a fence and a line needs, sent by plain ioredis; no deadline, lease or watchdog. What is left above it is the engine',
  renews: false,
  floor: true,
};

const CHANNEL = 'lock:wake:';

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export async function open({ port }) {
  const options = { ...redisLockClientOptions, host: '127.0.0.1', port };
  const [client, subscriber] = [new Redis(options), new Redis(options)];
  await Promise.all(
    [client, subscriber].map((one) => new Promise((resolve) => one.once('ready', resolve))),
  );
  const me = randomUUID();
  let wake = () => undefined;
  subscriber.on('message', () => wake());
  await subscriber.subscribe(CHANNEL + me);
  const { acquire, release } = lockScripts(CHANNEL);

  const ask = async (name, ...place) => {
    const lock = `lock:${name}`;
    const queue = `{${lock}}:waiters`;
    const token = `${randomUUID()}.${me}.bench`;
    const keys = [lock, `{${lock}}:fence`, queue];
    const reply = await acquire.run(client, { keys, args: [token, TTL_MS, ...place] });
    return Array.isArray(reply) && reply[0] === 0 ? undefined : { keys: [lock, queue], token };
  };
  return {
    async acquire(name) {
      const handle = await ask(name);
      if (!handle) throw new Error(`${name} is held`);
      return handle;
    },
    async wait(name) {
      for (;;) {
        const woken = new Promise((resolve) => (wake = resolve));
        const handle = await ask(name, me, '', '');
        if (handle) return handle;
        await woken;
      }
    },
    release: ({ keys, token }) => release.run(client, { keys, args: [token] }),
  };
}
