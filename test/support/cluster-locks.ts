import type { Cluster } from 'ioredis';
import { LockManager, RedisLockStore } from '../../src/lock/index.js';
import { type RedisCluster, startRedisCluster } from './redis-cluster.js';

/** A Redis Cluster with a lock store and an engine on it. */
export interface ClusterLocks {
  readonly cluster: RedisCluster;
  readonly client: Cluster;
  readonly store: RedisLockStore;
  readonly locks: LockManager;
  stop(): Promise<void>;
}

/** Starts the cluster, and the store on it. */
export async function startClusterLocks(): Promise<ClusterLocks> {
  const cluster = await startRedisCluster();
  try {
    const client = await cluster.client();
    const store = new RedisLockStore({ client });
    await store.start();
    const locks = new LockManager({ store });
    const stop = async () => {
      await locks.close();
      await cluster.stop();
    };
    return { cluster, client, store, locks, stop };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
