import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { APP_CONFIG, type AppConfig, type RedisAddress } from '../config/index.js';
import { redisLockClientOptions } from '../lock/index.js';
import { evictionWarning } from './eviction-check.js';

const keepAliveMs = 5_000;

/** Creates and closes every Redis client of the service; nobody else constructs one. */
@Injectable()
export class RedisClients implements OnApplicationShutdown {
  private readonly logger = new Logger(RedisClients.name);
  private readonly clients: Redis[] = [];

  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /**
   * A new client, connecting in the background; it is closed at the very end of the shutdown.
   * `purpose` names its connection on the server and in the log.
   * @throws when no Redis is configured
   */
  create(purpose: string, options: Pick<RedisOptions, 'commandTimeout'> = {}): Redis {
    const { redis, instanceId } = this.config;
    if (!redis) {
      throw new Error(
        `No Redis is configured for the ${purpose}. Set REDIS_URL or REDIS_SENTINELS.`,
      );
    }
    const client = connect(redis, { ...options, connectionName: `${instanceId}:${purpose}` });
    let down = false;
    client.on('error', (error: Error) => {
      if (!down) this.logger.warn(`Redis (${purpose}) is away: ${error.message}. Reconnecting.`);
      down = true;
    });
    client.on('ready', () => {
      if (down) this.logger.log(`Redis (${purpose}) is back.`);
      down = false;
    });
    client.once('ready', () => void this.checkEviction(client, purpose));
    this.clients.push(client);
    return client;
  }

  private async checkEviction(client: Redis, purpose: string): Promise<void> {
    const warning = await evictionWarning(client);
    if (warning !== undefined) this.logger.warn(`Redis (${purpose}): ${warning}`);
  }

  onApplicationShutdown(): void {
    // Not quit(): it would wait for a server that is frozen, and nothing is under way any more.
    for (const client of this.clients) client.disconnect();
  }
}

function connect(address: RedisAddress, own: RedisOptions): Redis {
  const options = { ...redisLockClientOptions, ...own, keepAlive: keepAliveMs };
  return address.kind === 'single'
    ? new Redis(address.url, options)
    : new Redis({
        ...options,
        sentinels: [...address.sentinels],
        name: address.name,
        sentinelRetryStrategy: redisLockClientOptions.retryStrategy,
      });
}
