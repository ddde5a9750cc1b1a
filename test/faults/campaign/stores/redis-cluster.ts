import { setTimeout as delay } from 'node:timers/promises';
import {
  type ClusterNode,
  type RedisCluster,
  startRedisCluster,
} from '../../../support/redis-cluster.js';
import { storeFault } from '../fault.js';
import type { SeededRandom } from '../seeded-random.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';
import { failovers } from './failovers.js';
import { leftoversOn, locksOn } from './redis-keys.js';

/** Of documents that the workload is about. */
const KEYS = ['lock:doc:text-1', 'lock:doc:text-2', 'lock:doc:text-3', 'lock:doc:text-4'];

/** LOCK_STORE=redis on a Redis Cluster of three masters with a replica each. A failover may lose what came last. */
export const startClusterWorld: StartStore = async ({ atEnd }) => {
  const cluster = await startRedisCluster();
  atEnd(() => cluster.stop());
  const masters = async () => (await mastersOf(cluster)).map(({ server }) => server);
  return {
    settings: () => ({
      REDIS_CLUSTER_NODES: cluster.addresses.map(({ host, port }) => `${host}:${port}`).join(),
    }),
    links: [],
    faults: [
      ...failovers({
        what: 'master of a shard',
        async master(random) {
          const key = random.pick(KEYS);
          const old = await cluster.masterOf(key);
          return { server: old.server, replaced: () => cluster.masterOf(key, old) };
        },
        whole: () => cluster.heal(),
      }),
      storeFault('slot moved under its locks', (random) => moveSlot(cluster, random)),
    ],
    longestLifeMs: TTL_MS,
    locks: async () => locksOn(await masters()),
    leftovers: async () => leftoversOn(await masters()),
  };
};

/** Moves the slot of a document's lock to another master, key by key, as `redis-cli --cluster reshard` does. Loses nothing. */
async function moveSlot(cluster: RedisCluster, random: SeededRandom): Promise<void> {
  const key = random.pick(KEYS);
  const source = await cluster.masterOf(key);
  const all = await mastersOf(cluster);
  const target = random.pick(all.filter((node) => node !== source));
  const slot = await source.admin.cluster('KEYSLOT', key);
  const [from, to] = await Promise.all(
    [source, target].map(async ({ admin }) => String(await admin.call('CLUSTER', 'MYID'))),
  );
  await target.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from!);
  await source.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to!);
  await delay(random.whole(0, TTL_MS / 2));
  const { host, port } = target.server;
  for (;;) {
    const keys = await source.admin.cluster('GETKEYSINSLOT', slot, 10);
    if (keys.length === 0) break;
    // One by one: meanwhile a lock is on one master, and its fence on the other.
    for (const one of keys) {
      await source.admin.call('MIGRATE', host, port, one, 0, 5_000);
      await delay(random.whole(0, 100));
    }
  }
  for (const { admin } of [
    target,
    source,
    ...all.filter((node) => node !== source && node !== target),
  ]) {
    await admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', to!);
  }
  await cluster.heal();
}

async function mastersOf({ nodes }: RedisCluster): Promise<ClusterNode[]> {
  const roles = await Promise.all(nodes.map(({ admin }) => admin.role()));
  return nodes.filter((_, index) => roles[index]?.[0] === 'master');
}
