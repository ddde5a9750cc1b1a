import type { Env } from './env.dto.js';

/** The lock stores that are clusters of their own, and the setting that says where each is. */
const coordinators = [
  { store: 'etcd', setting: 'ETCD_ENDPOINTS' },
  { store: 'zookeeper', setting: 'ZOOKEEPER_SERVERS' },
] as const;

/** etcd counts lives in whole seconds, ZooKeeper sessions in ticks of seconds. */
const LEAST_TTL_MS = 1_000;

/** What does not fit together about a lock store that is a cluster of its own: one sentence per mistake. */
export function coordinatorMismatches(env: Env): string[] {
  return coordinators.flatMap(({ store, setting }) => {
    const isChosen = env.LOCK_STORE === store;
    if (isChosen && !env[setting]) {
      return `LOCK_STORE is "${store}", but nothing says where it is. Set ${setting}.`;
    }
    if (!isChosen && env[setting]) {
      const chosen = env.LOCK_STORE === undefined ? 'not set' : `"${env.LOCK_STORE}"`;
      return `${setting} is set, but LOCK_STORE is ${chosen}, so it would be ignored. Set LOCK_STORE to "${store}", or empty ${setting}.`;
    }
    if (isChosen && env.LOCK_TTL_MS < LEAST_TTL_MS) {
      return `LOCK_TTL_MS is ${env.LOCK_TTL_MS}, but ${store} counts lives in seconds. Set it to ${LEAST_TTL_MS} or more.`;
    }
    return [];
  });
}

/** The entries of a list with commas; none where it is not set. */
export function listOf(text: string | undefined): readonly string[] {
  return text?.split(',').map((entry) => entry.trim()) ?? [];
}
