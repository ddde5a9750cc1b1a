import type { StartStore } from '../store-world.js';
import { startEtcdWorld } from './etcd.js';
import { startClusterWorld } from './redis-cluster.js';
import { startSentinelWorld } from './redis-sentinel.js';
import { startRedisWaitWorld } from './redis-wait.js';
import { startPostgresWorld } from './postgres.js';
import { startRedisWorld } from './redis.js';
import { startRedlockWorld } from './redlock.js';
import { startZookeeperWorld } from './zookeeper.js';

/** Every lock store that a campaign can break. */
export const stores = {
  redis: startRedisWorld,
  'redis-sentinel': startSentinelWorld,
  'redis-cluster': startClusterWorld,
  'redis-wait': startRedisWaitWorld,
  redlock: startRedlockWorld,
  postgres: startPostgresWorld,
  etcd: startEtcdWorld,
  zookeeper: startZookeeperWorld,
} satisfies Readonly<Record<string, StartStore>>;

/** Where the locks of a campaign's service are. */
export type StoreName = keyof typeof stores;
