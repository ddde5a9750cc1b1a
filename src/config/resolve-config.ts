import { createHash, randomBytes } from 'node:crypto';
import { availableParallelism, hostname } from 'node:os';
import { resolve } from 'node:path';
import { type AppConfig, type LockStoreKind } from './config.js';
import { ConfigError } from './config.errors.js';
import { coordinatorMismatches, etcdConfig } from './coordinators.js';
import { type Env } from './env.dto.js';
import { listOf } from './list-of.js';
import { llmConfig, llmMismatches } from './llm-config.js';
import { redisAddress, redisAddressMismatches } from './redis-address.js';
import { redisWaitMismatches, redlockMismatches } from './redis-stores.js';
import { type RawEnv, readEnv } from './read-env.js';

const mebibyte = 1024 * 1024;
// Where others can reach the service; on loopback all requests come from this machine.
const defaultRateLimitPerMinute = 1_200;

// More models would cost 200 MB each.
const workers = Math.min(availableParallelism(), 4);
// While one document is read or stored, another one has the core.
const leastConcurrency = 2;

/**
 * The config that settings, given as text, amount to.
 * @throws ConfigError with all mistakes at once: single settings first, then what does not fit together
 */
export function resolveConfig(raw: RawEnv): AppConfig {
  const { env, mistakes } = readEnv(raw);
  mistakes.push(...mismatches(env));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return deepFreeze({
    instanceId: env.INSTANCE_ID ?? ownName(),
    http: {
      host: env.HOST,
      isLoopback: isLoopback(env.HOST),
      port: env.PORT,
      uploadLimitBytes: env.UPLOAD_LIMIT_MB * mebibyte,
      shutdownGraceMs: env.SHUTDOWN_GRACE_MS,
      shutdownDelayMs: env.SHUTDOWN_DELAY_MS,
      trustProxy: listOf(env.TRUST_PROXY),
      rateLimitPerMinute:
        env.RATE_LIMIT_PER_MINUTE ?? (isLoopback(env.HOST) ? 0 : defaultRateLimitPerMinute),
    },
    access: {
      apiTokens: listOf(env.API_TOKENS).map(sha256),
      adminToken: env.ADMIN_TOKEN === undefined ? null : sha256(env.ADMIN_TOKEN),
    },
    dataDir: resolve(env.DATA_DIR),
    databaseUrl: env.DATABASE_URL ?? null,
    chromaUrl: env.CHROMA_URL ?? null,
    redis: redisAddress(env),
    redisWait: {
      replicas: env.REDIS_WAIT_REPLICAS,
      confirmTimeoutMs: env.REDIS_WAIT_TIMEOUT_MS,
    },
    redlock: env.REDLOCK_URLS
      ? { urls: listOf(env.REDLOCK_URLS), maxClockSkewMs: env.REDLOCK_MAX_CLOCK_SKEW_MS }
      : null,
    etcd: etcdConfig(env),
    zookeeper: env.ZOOKEEPER_SERVERS ? { servers: listOf(env.ZOOKEEPER_SERVERS) } : null,
    lock: {
      store: lockStore(env),
      prefix: env.LOCK_PREFIX,
      fenceBase: env.LOCK_FENCE_BASE,
      ttlMs: env.LOCK_TTL_MS,
      waitMs: env.LOCK_WAIT_MS,
      maxHoldMs: env.LOCK_MAX_HOLD_MS,
      commandTimeoutMs: env.LOCK_COMMAND_TIMEOUT_MS,
    },
    documents: {
      embedWorkers: env.EMBED_WORKERS ?? workers,
      concurrency: env.PROCESS_CONCURRENCY ?? Math.max(workers, leastConcurrency),
      queueLimit: env.QUEUE_LIMIT,
      queueWaitMs: env.QUEUE_WAIT_MS,
      chunkSize: env.CHUNK_SIZE,
      chunkOverlap: env.CHUNK_OVERLAP,
      extract: {
        maxPages: env.EXTRACT_MAX_PAGES,
        maxTextChars: env.EXTRACT_MAX_CHARS,
        maxTimeMs: env.EXTRACT_MAX_MS,
      },
      stepDelayMs: env.DEMO_STEP_DELAY_MS,
    },
    archive: {
      cron: env.ARCHIVE_CRON,
      timeZone: env.ARCHIVE_TZ,
      afterDays: env.ARCHIVE_AFTER_DAYS,
    },
    llm: llmConfig(env),
    idempotency: { ttlMs: env.IDEMPOTENCY_TTL_MS },
    upkeepIntervalMs: env.UPKEEP_INTERVAL_MS,
    logFormat: env.LOG_FORMAT === 'json' ? 'json' : 'pretty',
  });
}

function mismatches(env: Env): string[] {
  const mistakes = [
    ...accessMistakes(env),
    ...redisAddressMismatches(env),
    ...redisWaitMismatches(env),
    ...redlockMismatches(env),
    ...coordinatorMismatches(env),
    ...postgresLockMismatches(env),
    ...llmMismatches(env),
  ];
  const redisSettings = (['REDIS_URL', 'REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'] as const).filter(
    (name) => env[name],
  );
  const shared = (['DATABASE_URL', 'CHROMA_URL'] as const).filter((name) => env[name]);
  if (redisSettings.length > 1) {
    mistakes.push(
      `${redisSettings.join(' and ')} are both set; only one can say where Redis is. Empty one.`,
    );
  }
  if (env.LOCK_STORE === 'redis' && redisSettings.length === 0) {
    mistakes.push(
      'LOCK_STORE is "redis", but nothing says where Redis is. Set REDIS_URL, REDIS_SENTINELS and REDIS_SENTINEL_NAME, or REDIS_CLUSTER_NODES.',
    );
  }
  if (env.LOCK_STORE === 'memory' && redisSettings.length > 0) {
    mistakes.push(
      `${redisSettings[0]} is set, but LOCK_STORE is "memory", so it would be ignored. Set LOCK_STORE to "redis", or empty ${redisSettings[0]}.`,
    );
  }
  if (shared.length > 0 && env.LOCK_STORE === undefined && redisSettings.length === 0) {
    mistakes.push(
      `${shared[0]} is set, so other processes may share the data, but locks would live in this process only. ` +
        'Set REDIS_URL, or say LOCK_STORE=memory if this process is the only one.',
    );
  }
  if (env.CHUNK_OVERLAP >= env.CHUNK_SIZE) {
    mistakes.push(
      `CHUNK_OVERLAP is ${env.CHUNK_OVERLAP}, but it must be less than CHUNK_SIZE (${env.CHUNK_SIZE}), or chunking would never end. Lower it.`,
    );
  }
  return mistakes;
}

function accessMistakes(env: Env): string[] {
  const mistakes: string[] = [];
  if (!isLoopback(env.HOST) && env.API_TOKENS === undefined && env.API_OPEN !== 'true') {
    mistakes.push(
      `HOST is "${env.HOST}", so other machines reach the service, but no API_TOKENS are set, so all of them could write. ` +
        'Set API_TOKENS and ADMIN_TOKEN; or HOST=127.0.0.1; or API_OPEN=true if everybody who reaches the service may do everything.',
    );
  }
  if (env.ADMIN_TOKEN !== undefined && listOf(env.API_TOKENS).includes(env.ADMIN_TOKEN)) {
    mistakes.push('ADMIN_TOKEN is one of API_TOKENS too. Give it a value of its own.');
  }
  return mistakes;
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function lockStore(env: Env): LockStoreKind {
  if (env.LOCK_STORE !== undefined) return env.LOCK_STORE as LockStoreKind; // one of them, as checked
  return redisAddress(env) ? 'redis' : 'memory';
}

/** Host and random: containers may share a host name, and a restarted process must not pass for its predecessor. */
function ownName(): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 50);
  return `${host || 'replica'}-${randomBytes(3).toString('hex')}`;
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) deepFreeze(part);
  }
  return Object.freeze(value);
}

function postgresLockMismatches(env: Env): string[] {
  if (env.LOCK_STORE !== 'postgres' || env.DATABASE_URL) return [];
  return [
    'LOCK_STORE is "postgres", but nothing says where PostgreSQL is: locks live in the database of the service. Set DATABASE_URL.',
  ];
}
