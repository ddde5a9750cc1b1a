import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import {
  APP_CONFIG,
  type AppConfig,
  type RedisAccess,
  type RedisAddress,
} from '../config/index.js';
import {
  type RedisClient,
  redisLockClientOptions,
  redisLockClusterOptions,
} from '../lock/index.js';

const keepAliveMs = 5_000;

/** Creates and closes every Redis client of the service; nobody else constructs one. */
@Injectable()
export class RedisClients implements OnApplicationShutdown {
  private readonly logger = new Logger(RedisClients.name);
  private readonly clients: RedisClient[] = [];

  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /**
   * A new client, connecting in the background; it is closed at the very end of the shutdown.
   * `purpose` names its connection on the server and in the log.
   * @throws when no Redis is configured
   */
  create(purpose: string, options: Pick<RedisOptions, 'commandTimeout'> = {}): RedisClient {
    const { redis, instanceId } = this.config;
    if (!redis) {
      throw new Error(
        `No Redis is configured for the ${purpose}. Set REDIS_URL, REDIS_SENTINELS or REDIS_CLUSTER_NODES.`,
      );
    }
    const given = { ...options, connectionName: `${instanceId}:${purpose}` };
    return this.keep(connect(redis, given), purpose);
  }

  /** A new client of one server, or of the primary that Sentinel names. @throws where Redis is a cluster, or none */
  createSingle(purpose: string): Redis {
    const client = this.create(purpose);
    if (client instanceof Redis) return client;
    throw new Error(
      `The ${purpose} need one Redis primary. Set REDIS_URL or REDIS_SENTINELS in place of REDIS_CLUSTER_NODES.`,
    );
  }

  /** New clients, one per master of REDLOCK_URLS. @throws when there are none */
  createNodes(purpose: string): readonly Redis[] {
    const { redlock, instanceId } = this.config;
    if (!redlock) throw new Error(`No nodes are configured for the ${purpose}. Set REDLOCK_URLS.`);
    return redlock.urls.map((url, index) => {
      const name = `${purpose} ${index + 1}`;
      const connectionName = `${instanceId}:${purpose}`;
      const own = { connectionName, keepAlive: keepAliveMs };
      return this.keep(new Redis(url, { ...redisLockClientOptions, ...own }), name);
    });
  }

  private keep<T extends RedisClient>(client: T, purpose: string): T {
    let down = false;
    client.on('error', (error: Error) => {
      if (!down) this.logger.warn(`Redis (${purpose}) is away: ${error.message}. Reconnecting.`);
      down = true;
    });
    client.on('ready', () => {
      if (down) this.logger.log(`Redis (${purpose}) is back.`);
      down = false;
    });
    this.clients.push(client);
    return client;
  }

  onApplicationShutdown(): void {
    // Not quit(): it would wait for a server that is frozen, and nothing is under way any more.
    for (const client of this.clients) client.disconnect();
  }
}

function connect(address: RedisAddress, given: RedisOptions): RedisClient {
  const own = { ...given, keepAlive: keepAliveMs };
  switch (address.kind) {
    case 'single':
      return new Redis(address.url, { ...redisLockClientOptions, ...own });
    case 'sentinel':
      return new Redis({
        ...redisLockClientOptions,
        ...own,
        ...accessOptions(address.access),
        enableTLSForSentinelMode: address.access.tls,
        ...sentinelAccessOptions(address.sentinelAccess),
        sentinels: [...address.sentinels],
        name: address.name,
        sentinelRetryStrategy: redisLockClientOptions.retryStrategy,
      });
    case 'cluster':
      return new Cluster([...address.nodes], {
        ...redisLockClusterOptions,
        redisOptions: {
          ...redisLockClusterOptions.redisOptions,
          ...own,
          ...accessOptions(address.access),
        },
      });
  }
}

function accessOptions({ username, password, tls }: RedisAccess): RedisOptions {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
  };
}

function sentinelAccessOptions({ username, password, tls }: RedisAccess): RedisOptions {
  return {
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(tls && { sentinelTLS: {} }),
  };
}
