import { Redis } from 'ioredis';
import { redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { eventually } from './eventually.js';
import { type RedisServer, startRedis } from './redis.js';

/** A Redis server with a lock store on it. */
export interface RedisLocks {
  readonly server: RedisServer;
  /** A client of its own, for what a test does to the server. */
  readonly admin: Redis;
  /** The client of the store. */
  readonly client: Redis;
  readonly store: RedisLockStore;
  stop(): Promise<void>;
}

/** Starts the server, and the store on it. */
export async function startRedisLocks(): Promise<RedisLocks> {
  const server = await startRedis();
  const admin = new Redis(server.port, server.host);
  const client = new Redis(server.port, server.host, { ...redisLockClientOptions });
  const store = new RedisLockStore({ client });
  await eventually(() => client.status === 'ready');
  const stop = async () => {
    await store.close();
    client.disconnect();
    admin.disconnect();
    await server.stop();
  };
  return { server, admin, client, store, stop };
}
