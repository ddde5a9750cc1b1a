import type { RedisClient } from '../lock/index.js';

/**
 * What is wrong with a server's `maxmemory-policy` for keys that must not vanish before their time, or
 * undefined. A server that evicts takes locks for cache entries. One command; never rejects.
 */
export async function evictionWarning(client: RedisClient): Promise<string | undefined> {
  let policy: string | undefined;
  try {
    policy = /^maxmemory_policy:(\S+)/m.exec(await client.info('memory'))?.[1];
  } catch (error) {
    return `it does not tell its maxmemory-policy (${String(error)}). It must be noeviction, or locks may vanish under memory pressure.`;
  }
  if (policy === undefined || policy === 'noeviction') return undefined;
  return `its maxmemory-policy is ${policy}, under which locks may vanish under memory pressure. Set it to noeviction.`;
}
