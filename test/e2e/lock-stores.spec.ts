import { expect, it } from '@jest/globals';
import { DocumentsClient } from '../support/documents-client.js';
import { startRedis } from '../support/redis.js';
import { canReplicate, startPrimary, startReplicaOf } from '../support/replication.js';
import { startPostgres } from '../support/postgres.js';
import { startEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { ServiceProcess } from '../support/service-process.js';
import { startZookeeper } from '../support/zookeeper.js';

/** Servers that a lock store needs, and the settings that name them. */
interface Servers {
  readonly settings: Readonly<Record<string, string>>;
  readonly stop: () => Promise<unknown>;
}

const redisWait = {
  store: 'redis-wait',
  start: async (): Promise<Servers> => {
    const primary = await startPrimary();
    const replica = await startReplicaOf(primary.port);
    return {
      settings: {
        REDIS_URL: primary.url,
        REDIS_WAIT_REPLICAS: '1',
        REDIS_WAIT_TIMEOUT_MS: '900',
      },
      stop: () => Promise.all([primary.stop(), replica.stop()]),
    };
  },
};

const stores = [
  ...((await canReplicate()) ? [redisWait] : []),
  {
    store: 'redlock',
    start: async (): Promise<Servers> => {
      const nodes = await Promise.all([startRedis(), startRedis(), startRedis()]);
      return {
        settings: {
          REDLOCK_URLS: nodes.map(({ url }) => url).join(),
          // New servers do not vote for that and the longest TTL.
          REDLOCK_MAX_CLOCK_SKEW_MS: '0',
          LOCK_TTL_MS: '3000',
        },
        stop: () => Promise.all(nodes.map((node) => node.stop())),
      };
    },
  },
  {
    store: 'etcd',
    start: async (): Promise<Servers> => {
      const etcd = await startEtcd();
      return { settings: { ETCD_ENDPOINTS: etcd.endpoints.join() }, stop: () => etcd.stop() };
    },
  },
  {
    store: 'postgres',
    start: async (): Promise<Servers> => {
      const postgres = await startPostgres();
      return { settings: { DATABASE_URL: postgres.url }, stop: () => postgres.stop() };
    },
  },
  {
    store: 'zookeeper',
    start: async () => {
      const zookeeper = await startZookeeper();
      return {
        settings: { ZOOKEEPER_SERVERS: zookeeper.servers },
        stop: () => zookeeper.stop(),
      };
    },
  },
];

it.each(stores)(
  'the service with its locks in $store processes a document, and tells who comes second that it is busy',
  async ({ store, start }) => {
    const servers = await start();
    try {
      await using service = await ServiceProcess.start({
        LOCK_STORE: store,
        ...servers.settings,
        EMBED_WORKERS: '1',
        DEMO_STEP_DELAY_MS: '400',
      });
      const client = new DocumentsClient(service);
      await client.put('a', 'A text about lanterns.');
      expect((await client.start('a')).status).toBe(202);
      await eventually(async () => (await client.get('a')).state === 'processing');
      const second = await client.process('a');
      expect(second.status).toBe(423);
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      await eventually(async () => (await client.get('a')).state === 'ready', {
        timeoutMs: 20_000,
      });
      expect(await client.passages('a', 'lanterns')).toHaveLength(1);
      expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    } finally {
      await servers.stop();
    }
  },
  90_000,
);
