import { type RedisAccess, type RedisAddress } from './config.js';
import type { Env } from './env.dto.js';
import { listOf } from './list-of.js';
import { parseEntry } from './redis-entry.js';

const noAccess: RedisAccess = { username: undefined, password: undefined, tls: false };

/** Where Redis is. Its settings are checked before. */
export function redisAddress(env: Env): RedisAddress | null {
  if (env.REDIS_URL) return { kind: 'single', url: env.REDIS_URL };
  if (env.REDIS_CLUSTER_NODES) {
    const { servers: nodes, access } = serversOf(env.REDIS_CLUSTER_NODES);
    return { kind: 'cluster', nodes, access };
  }
  if (!env.REDIS_SENTINELS) return null;
  const { servers: sentinels, access: sentinelAccess } = serversOf(env.REDIS_SENTINELS);
  const { host: name = '', access = noAccess } = parseEntry(env.REDIS_SENTINEL_NAME) ?? {};
  return { kind: 'sentinel', sentinels, sentinelAccess, name, access };
}

function serversOf(list: string) {
  const entries = listOf(list).flatMap((entry) => parseEntry(entry) ?? []);
  const servers = entries.map(({ host, port = 0 }) => ({ host, port }));
  return { servers, access: entries[0]?.access ?? noAccess };
}

/** What does not fit together within the addresses: one sentence per mistake. */
export function redisAddressMismatches(env: Env): string[] {
  return (['REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'] as const).flatMap((name) => {
    const entries = listOf(env[name]).flatMap((entry) => parseEntry(entry) ?? []);
    if (new Set(entries.map(({ access }) => JSON.stringify(access))).size <= 1) return [];
    return `${name} names servers with different users, passwords or TLS, but all of them are spoken to in the same way. Write the same in every entry.`;
  });
}
