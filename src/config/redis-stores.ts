import type { Env } from './env.dto.js';
import { listOf } from './list-of.js';

/** What does not fit together about replica confirmation: one sentence per mistake. */
export function redisWaitMismatches(env: Env): string[] {
  const chosen = env.LOCK_STORE === undefined ? 'not set' : `"${env.LOCK_STORE}"`;
  if (env.LOCK_STORE !== 'redis-wait') {
    return env.REDIS_WAIT_REPLICAS === undefined
      ? []
      : [
          `REDIS_WAIT_REPLICAS is set, but LOCK_STORE is ${chosen}, which asks no replica. Set LOCK_STORE to "redis-wait", or empty REDIS_WAIT_REPLICAS.`,
        ];
  }
  const mistakes: string[] = [];
  if (env.REDIS_CLUSTER_NODES) {
    mistakes.push(
      'LOCK_STORE is "redis-wait", which needs one primary, but REDIS_CLUSTER_NODES is set. Set LOCK_STORE to "redis", or REDIS_URL or REDIS_SENTINELS in its place.',
    );
  } else if (!env.REDIS_URL && !env.REDIS_SENTINELS) {
    mistakes.push(
      'LOCK_STORE is "redis-wait", but nothing says where Redis is. Set REDIS_URL, or REDIS_SENTINELS and REDIS_SENTINEL_NAME.',
    );
  }
  const commandMs = Math.min(env.LOCK_COMMAND_TIMEOUT_MS, Math.floor(env.LOCK_TTL_MS / 3));
  if (env.REDIS_WAIT_TIMEOUT_MS >= commandMs) {
    mistakes.push(
      `REDIS_WAIT_TIMEOUT_MS is ${env.REDIS_WAIT_TIMEOUT_MS}, but a command has ${commandMs} ms (LOCK_COMMAND_TIMEOUT_MS, a third of LOCK_TTL_MS at most), so nobody would wait for the replicas' answer. Lower it.`,
    );
  }
  return mistakes;
}

/** What does not fit together about Redlock: one sentence per mistake. */
export function redlockMismatches(env: Env): string[] {
  const urls = listOf(env.REDLOCK_URLS);
  if (env.LOCK_STORE !== 'redlock') {
    const chosen = env.LOCK_STORE === undefined ? 'not set' : `"${env.LOCK_STORE}"`;
    return urls.length === 0
      ? []
      : [
          `REDLOCK_URLS is set, but LOCK_STORE is ${chosen}, so it would be ignored. Set LOCK_STORE to "redlock", or empty REDLOCK_URLS.`,
        ];
  }
  if (urls.length === 0) {
    return ['LOCK_STORE is "redlock", but nothing says where its nodes are. Set REDLOCK_URLS.'];
  }
  const mistakes: string[] = [];
  if (urls.length < 3 || urls.length % 2 === 0) {
    mistakes.push(
      `REDLOCK_URLS names ${urls.length} nodes, but Redlock needs an odd number of independent masters, at least 3. Add or remove one.`,
    );
  }
  if (new Set(urls).size < urls.length) {
    mistakes.push(
      'REDLOCK_URLS names one node twice, which would count as two. Give each its own master.',
    );
  }
  return mistakes;
}
