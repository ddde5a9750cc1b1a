import { type DynamicModule, Module, type OnModuleDestroy } from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { AdministrationModule } from './administration/index.js';
import { ArchiveModule } from './archive/index.js';
import { APP_CONFIG, type AppConfig, ConfigModule } from './config/index.js';
import { ConversationsModule } from './conversations/index.js';
import {
  Database,
  DatabaseModule,
  highestFence,
  InstanceLock,
  InstanceModule,
} from './database/index.js';
import { DocumentsModule } from './documents/index.js';
import { HealthModule } from './health/index.js';
import { Drain, HttpModule, PROBLEM_MEDIA_TYPE, translate } from './http/index.js';
import {
  IdempotencyModule,
  type IdempotencyOptions,
  SqlIdempotencyStore,
} from './idempotency/index.js';
import { LockModule, type LockModuleOptions, type LockStoreOption } from './lock/index.js';
import { LlmModule } from './llm/index.js';
import { RedisClients, RedisModule } from './redis/index.js';
import { Upkeep, UpkeepModule } from './upkeep/index.js';

/**
 * Joins the rooms: the only place that knows them all. Shutdown begins with the drain, and then goes
 * backwards through the imports: what comes later may use what comes earlier until its own end.
 */
@Module({})
export class AppModule implements OnModuleDestroy {
  constructor(private readonly drain: Drain) {}

  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        HttpModule,
        InstanceModule,
        DatabaseModule.forRootAsync({
          inject: [APP_CONFIG, InstanceLock], // the lock first: nothing touches a folder of others
          useFactory: ({ dataDir, databaseUrl }: AppConfig) => ({
            dataDir,
            url: databaseUrl ?? undefined,
          }),
        }),
        RedisModule,
        LockModule.forRootAsync({
          inject: [APP_CONFIG, RedisClients, Database],
          useFactory: lockOptions,
          exceptionFilter: false, // ProblemFilter answers lock errors with the same mapping
        }),
        UpkeepModule,
        IdempotencyModule.forRootAsync({
          inject: [APP_CONFIG, Database, Drain, Upkeep],
          useFactory: idempotencyOptions,
        }),
        LlmModule,
        DocumentsModule,
        ConversationsModule,
        ArchiveModule,
        AdministrationModule,
        HealthModule,
      ],
    };
  }

  onModuleDestroy(): Promise<void> {
    return this.drain.run();
  }
}

/** No lock of the service has a longer TTL than this, or LOCK_TTL_MS where that is more. */
const leastLongestTtlMs = 5_000;

async function lockOptions(
  config: AppConfig,
  clients: RedisClients,
  database: Database,
): Promise<LockModuleOptions> {
  const { store: _store, prefix: _prefix, ...defaults } = config.lock;
  return {
    store: lockStoreOption(config, clients),
    instanceId: config.instanceId,
    shutdownGraceMs: 0, // the drain has waited before
    highestFence: await highestFence(database),
    ...defaults,
  };
}

function lockStoreOption(config: AppConfig, clients: RedisClients): LockStoreOption {
  const { lock, redisWait, redlock, etcd, zookeeper, databaseUrl } = config;
  const { store, prefix, ttlMs, commandTimeoutMs: callTimeoutMs } = lock;
  switch (store) {
    case 'redis':
      return { kind: store, client: clients.create('locks'), prefix };
    case 'redis-wait':
      return { kind: store, client: clients.createSingle('locks'), prefix, ...redisWait };
    case 'redlock': {
      const { maxClockSkewMs } = redlock ?? {};
      const longestTtlMs = Math.max(ttlMs, leastLongestTtlMs);
      return {
        kind: store,
        clients: clients.createNodes('locks'),
        prefix,
        longestTtlMs,
        maxClockSkewMs,
      };
    }
    case 'etcd':
      return {
        kind: store,
        endpoints: etcd?.endpoints ?? [],
        clientCertificate: etcd?.clientCertificate ?? undefined,
        prefix,
        callTimeoutMs,
      };
    case 'zookeeper': {
      const servers = zookeeper?.servers.join() ?? '';
      return { kind: store, servers, ttlMs, prefix, callTimeoutMs };
    }
    case 'postgres':
      return { kind: store, url: databaseUrl ?? undefined, queryTimeoutMs: callTimeoutMs };
    case 'memory':
      return { kind: store };
  }
}

function idempotencyOptions(
  { idempotency }: AppConfig,
  database: Database,
  drain: Drain,
  upkeep: Upkeep,
): IdempotencyOptions {
  const store = new SqlIdempotencyStore(database);
  upkeep.add({
    name: 'idempotency',
    removes: 'expired idempotency records',
    step: ({ storeTimeMs }) => store.sweep(storeTimeMs),
  });
  return {
    store,
    ttlMs: idempotency.ttlMs,
    errorAnswer(error) {
      const { body } = translate(error);
      const headers = { 'content-type': PROBLEM_MEDIA_TYPE };
      return { status: body.status, headers, body: JSON.stringify(body) };
    },
    principal: (request) => (request as FastifyRequest).principal?.name ?? 'nobody',
    track: (run) => drain.track(run),
  };
}
