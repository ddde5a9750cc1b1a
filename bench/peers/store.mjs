import { Cluster, Redis } from 'ioredis';
import {
  LockManager,
  redisLockClientOptions,
  redisLockClusterOptions,
} from '../../dist/lock/index.js';
import { createLockStore } from '../../dist/lock/nest/store.factory.js';
import { pause } from '../lib/clock.mjs';
import { TTL_MS } from '../lib/peers.mjs';

const FOR_EVER_MS = 600_000;
/** Redlock nodes that have just started do not vote for the longest TTL: a short one, so that they soon do. */
const SHORT_TTL_MS = 5_000;

/** doclock on any of its stores: no row among the peers, but one of the table of stores. */
export async function open({ connect }) {
  const locks = new LockManager({
    store: createLockStore(await optionOf(connect)),
    defaults: { ttlMs: connect.kind === 'redlock' ? SHORT_TTL_MS : TTL_MS },
  });
  await locks.start();
  while (!(await locks.tryAcquire('probe').then(release, () => false))) await pause(100);
  return {
    acquire: (name) => locks.acquire(name),
    wait: (name) => locks.acquire(name, { waitMs: FOR_EVER_MS }),
    release: (lease) => lease.release(),
  };
}

async function release(lease) {
  await lease?.release();
  return lease !== null;
}

async function optionOf({ kind, port, ports, nodes, endpoints, servers, url }) {
  switch (kind) {
    case 'redis':
    case 'redis-wait':
      return { kind, client: await ready(redis({ port })) };
    case 'sentinel': {
      const sentinels = [{ host: '127.0.0.1', port }];
      return { kind: 'redis', client: await ready(redis({ sentinels, name: 'mymaster' })) };
    }
    case 'cluster':
      return { kind: 'redis', client: await ready(new Cluster(nodes, redisLockClusterOptions)) };
    case 'redlock': {
      const clients = await Promise.all(ports.map((one) => ready(redis({ port: one }))));
      return { kind, clients, longestTtlMs: SHORT_TTL_MS, maxClockSkewMs: 0 };
    }
    case 'etcd':
      return { kind, endpoints };
    case 'postgres':
      return { kind, url };
    case 'zookeeper':
      return { kind, servers };
    default:
      throw new Error(`There is no way to connect to the store ${kind}.`);
  }
}

const redis = (where) => new Redis({ ...redisLockClientOptions, host: '127.0.0.1', ...where });

/** A failover is part of what is measured, not an error. */
async function ready(client) {
  client.on('error', () => undefined);
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve));
  return client;
}
