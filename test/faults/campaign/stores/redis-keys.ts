import { Redis } from 'ioredis';
import type { RedisServer } from '../../../support/redis.js';
import type { StoredName } from '../store-world.js';

/** The longest life of a helper key: of a queue, ten minutes; a fence's is a day, and above any clock step. */
const LONGEST_KEY_MS = 25 * 3_600_000;
const PREFIX = 'lock:';

/** Sends one command to a server, on a connection of its own. @throws what the server answers, or where it is away */
export async function send(
  server: Pick<RedisServer, 'url'>,
  ...[command, ...args]: readonly [string, ...string[]]
): Promise<unknown> {
  const client = new Redis(server.url, { lazyConnect: true, retryStrategy: null });
  client.on('error', () => 'the command that is rejected tells it');
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

/** The locks that lie on these servers. */
export async function locksOn(servers: readonly RedisServer[]): Promise<readonly StoredName[]> {
  const keys = await keysOn(servers);
  return keys
    .filter(({ key }) => key.startsWith(PREFIX))
    .map(({ key, leftMs }) => ({ name: key.slice(PREFIX.length), leftMs }));
}

/** The keys of these servers that never expire, or not within any time that a key may have. */
export async function leftoversOn(servers: readonly RedisServer[]): Promise<readonly string[]> {
  return (await keysOn(servers))
    .filter(({ leftMs }) => leftMs === -1 || leftMs > LONGEST_KEY_MS)
    .map(({ key, leftMs }) => `the key ${key} stays in the lock store (PTTL ${leftMs})`);
}

async function keysOn(
  servers: readonly RedisServer[],
): Promise<{ readonly key: string; readonly leftMs: number }[]> {
  const found: { key: string; leftMs: number }[] = [];
  for (const server of servers) {
    for (const key of (await send(server, 'KEYS', '*')) as string[]) {
      const leftMs = Number(await send(server, 'PTTL', key));
      if (leftMs !== -2) found.push({ key, leftMs }); // it has gone meanwhile
    }
  }
  return found;
}
