import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { DocumentsClient } from './documents-client.js';
import { type RedisServer, startRedis } from './redis.js';
import { type ServiceEnv, type ServiceProcess, startReplicas } from './service-process.js';

/** Replicas that share one Redis and one data folder. */
export interface Cluster {
  readonly redis: RedisServer;
  /** A client of the test's own, to look and to interfere. */
  readonly keys: Redis;
  readonly replicas: readonly ServiceProcess[];
  /** One per replica. */
  readonly clients: readonly DocumentsClient[];
  stop(): Promise<void>;
}

/** Starts Redis and `count` replicas, which are ready when it resolves. Slow stages give tests time to act. */
export async function startCluster(count: number, env: ServiceEnv): Promise<Cluster> {
  const redis = await startRedis();
  const dataDir = await mkdtemp(join(tmpdir(), 'cluster-'));
  const shared = { REDIS_URL: redis.url, DATA_DIR: dataDir, EMBED_WORKERS: '1' };
  const replicas = await startReplicas(count, { ...shared, ...env });
  // The driver leaves a timer of that length behind when it disconnects after an outage.
  const disconnectTimeout = 100;
  const keys = new Redis(redis.url, { retryStrategy: () => 50, disconnectTimeout });
  keys.on('error', () => 'a test ends the server on purpose');
  return {
    redis,
    keys,
    replicas,
    clients: replicas.map((replica) => new DocumentsClient(replica)),
    async stop() {
      keys.disconnect();
      await Promise.all(replicas.map((replica) => replica.stop()));
      await redis.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
