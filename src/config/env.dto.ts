import {
  CronExpression,
  Form,
  HttpUrl,
  IfSet,
  Networks,
  OneOf,
  RedisUrls,
  Text,
  TimeZone,
  UrlOf,
  WholeNumber,
} from './env.decorators.js';
import { isPrimaryName, isServerList } from './redis-entry.js';

const aDay = 86_400_000;
const longestTimerMs = 2 ** 31 - 1;

/**
 * The settings as the environment spells them, with their defaults; undefined means "not set" and
 * leaves the choice to `resolveConfig`. `.env.example` lists the same names and defaults.
 */
export class Env {
  @Form(/^[A-Za-z0-9.:_-]+$/, 'must be a host name or an IP address')
  HOST: string = '127.0.0.1';

  @WholeNumber(0, 65_535)
  PORT: number = 3000;

  @IfSet()
  @Form(
    /^[\w.~+/-]{16,200}=*(\s*,\s*[\w.~+/-]{16,200}=*)*$/,
    'must be a list, with commas, of tokens of 16 to 200 letters, digits, ".", "_", "~", "+", "/" or "-" each',
  )
  API_TOKENS: string | undefined = undefined;

  @IfSet()
  @Form(
    /^[\w.~+/-]{16,200}=*$/,
    'must be 16 to 200 letters, digits, ".", "_", "~", "+", "/" or "-"',
  )
  ADMIN_TOKEN: string | undefined = undefined;

  @OneOf('true', 'false')
  API_OPEN: string = 'false';

  @IfSet()
  @Networks()
  TRUST_PROXY: string | undefined = undefined;

  @IfSet()
  @WholeNumber(0, 1_000_000)
  RATE_LIMIT_PER_MINUTE: number | undefined = undefined;

  @IfSet()
  @Form(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must be 1 to 64 letters, digits, ".", "_" or "-", beginning with a letter or digit',
  )
  INSTANCE_ID: string | undefined = undefined;

  @Form(/\S/, 'must be a folder')
  DATA_DIR: string = './data';

  @IfSet()
  @UrlOf('postgres:', 'postgresql:')
  DATABASE_URL: string | undefined = undefined;

  @IfSet()
  @OneOf('memory', 'redis', 'redis-wait', 'redlock', 'etcd', 'zookeeper', 'postgres')
  LOCK_STORE: string | undefined = undefined;

  @IfSet()
  @RedisUrls({ several: false })
  REDIS_URL: string | undefined = undefined;

  @IfSet()
  @Text(
    isServerList,
    'must be a list such as "sentinel-1:26379,sentinel-2:26379"; each may be "redis://user:password@sentinel-1:26379", with "rediss://" for TLS',
  )
  REDIS_SENTINELS: string | undefined = undefined;

  @IfSet()
  @Text(
    isServerList,
    'must be a list such as "redis-1:6379,redis-2:6379"; each may be "redis://user:password@redis-1:6379", with "rediss://" for TLS',
  )
  REDIS_CLUSTER_NODES: string | undefined = undefined;

  @Text(
    isPrimaryName,
    'must be the name of the primary as the sentinels know it; it may be "redis://user:password@mymaster", with "rediss://" for TLS',
  )
  REDIS_SENTINEL_NAME: string = 'mymaster';

  @IfSet()
  @WholeNumber(1, 100)
  REDIS_WAIT_REPLICAS: number | undefined = undefined;

  @WholeNumber(1, 60_000)
  REDIS_WAIT_TIMEOUT_MS: number = 300;

  @IfSet()
  @RedisUrls({ several: true })
  REDLOCK_URLS: string | undefined = undefined;

  @WholeNumber(0, 3_600_000)
  REDLOCK_MAX_CLOCK_SKEW_MS: number = 60_000;

  @IfSet()
  @Form(
    /^(https?:\/\/)?[^\s,:/]+:\d{1,5}(,\s*(https?:\/\/)?[^\s,:/]+:\d{1,5})*$/,
    'must be a list such as "http://etcd-1:2379,http://etcd-2:2379"',
  )
  ETCD_ENDPOINTS: string | undefined = undefined;

  @IfSet()
  @Form(/\S/, 'must be a file')
  ETCD_CERT_FILE: string | undefined = undefined;

  @IfSet()
  @Form(/\S/, 'must be a file')
  ETCD_KEY_FILE: string | undefined = undefined;

  @IfSet()
  @Form(
    /^[^\s,:/]+:\d{1,5}(,\s*[^\s,:/]+:\d{1,5})*$/,
    'must be a list such as "zookeeper-1:2181,zookeeper-2:2181"',
  )
  ZOOKEEPER_SERVERS: string | undefined = undefined;

  @Form(
    /^[^\s{}%\p{Cc}]{1,100}$/u,
    'must be 1 to 100 characters without white space, "{", "}" and "%"',
  )
  LOCK_PREFIX: string = 'lock:';

  @WholeNumber(0, 2 ** 52)
  LOCK_FENCE_BASE: number = 0;

  @WholeNumber(100, aDay)
  LOCK_TTL_MS: number = 30_000;

  @WholeNumber(0, longestTimerMs)
  LOCK_WAIT_MS: number = 0;

  @WholeNumber(1, longestTimerMs, true)
  LOCK_MAX_HOLD_MS: number = 600_000;

  @WholeNumber(1, longestTimerMs)
  LOCK_COMMAND_TIMEOUT_MS: number = 1_000;

  @IfSet()
  @HttpUrl({ credentials: true })
  CHROMA_URL: string | undefined = undefined;

  @HttpUrl({ credentials: false })
  LLM_BASE_URL: string = 'https://api.openai.com/v1';

  @IfSet()
  @Form(
    /^[\x21-\x2B\x2D-\x7E]{8,}(\s*,\s*[\x21-\x2B\x2D-\x7E]{8,})*$/,
    'must be keys of 8 or more printable characters each, separated by commas',
  )
  LLM_API_KEYS: string | undefined = undefined;

  @IfSet()
  @Form(/^\S+$/, 'must be the name of a model')
  LLM_CHAT_MODEL: string | undefined = undefined;

  @OneOf('builtin', 'llm')
  EMBEDDER: string = 'builtin';

  @IfSet()
  @Form(/^\S+$/, 'must be the name of a model')
  LLM_EMBED_MODEL: string | undefined = undefined;

  @IfSet()
  @WholeNumber(1, 10_000)
  LLM_EMBED_DIMENSIONS: number | undefined = undefined;

  @WholeNumber(1, 1_000)
  LLM_KEY_CONCURRENCY: number = 1;

  @IfSet()
  @WholeNumber(1, 1_000_000)
  LLM_KEY_REQUESTS_PER_MINUTE: number | undefined = undefined;

  @IfSet()
  @WholeNumber(1, 1_000_000_000)
  LLM_KEY_TOKENS_PER_MINUTE: number | undefined = undefined;

  @WholeNumber(0, 600_000)
  LLM_WAIT_MS: number = 10_000;

  @WholeNumber(1_000, 600_000)
  LLM_TIMEOUT_MS: number = 60_000;

  @IfSet()
  @WholeNumber(1, 64)
  EMBED_WORKERS: number | undefined = undefined;

  @IfSet()
  @WholeNumber(1, 64)
  PROCESS_CONCURRENCY: number | undefined = undefined;

  @WholeNumber(1, 100_000)
  QUEUE_LIMIT: number = 10_000;

  @WholeNumber(1, longestTimerMs)
  QUEUE_WAIT_MS: number = 120_000;

  @WholeNumber(50, 10_000)
  CHUNK_SIZE: number = 500;

  @WholeNumber(0, 9_999)
  CHUNK_OVERLAP: number = 50;

  @WholeNumber(1, 1_000)
  UPLOAD_LIMIT_MB: number = 20;

  @WholeNumber(1, 1_000_000)
  EXTRACT_MAX_PAGES: number = 10_000;

  @WholeNumber(1, 500_000_000)
  EXTRACT_MAX_CHARS: number = 20_000_000;

  @WholeNumber(1, longestTimerMs)
  EXTRACT_MAX_MS: number = 300_000;

  @WholeNumber(0, 600_000)
  DEMO_STEP_DELAY_MS: number = 0;

  @CronExpression()
  ARCHIVE_CRON: string = '0 0 3 * * *';

  @TimeZone()
  ARCHIVE_TZ: string = 'UTC';

  @WholeNumber(0, 36_500)
  ARCHIVE_AFTER_DAYS: number = 30;

  @WholeNumber(1_000, 30 * aDay)
  IDEMPOTENCY_TTL_MS: number = aDay;

  @WholeNumber(1_000, aDay)
  UPKEEP_INTERVAL_MS: number = 60_000;

  @WholeNumber(0, aDay)
  SHUTDOWN_GRACE_MS: number = 30_000;

  @WholeNumber(0, 60_000)
  SHUTDOWN_DELAY_MS: number = 0;

  @OneOf('pretty', 'json')
  LOG_FORMAT: string = 'pretty';
}

/** The settings that are numbers; the environment only knows text. */
export const NUMERIC_SETTINGS: ReadonlySet<string> = new Set([
  'EMBED_WORKERS',
  'LLM_EMBED_DIMENSIONS',
  'LLM_KEY_REQUESTS_PER_MINUTE',
  'LLM_KEY_TOKENS_PER_MINUTE',
  'PROCESS_CONCURRENCY',
  'RATE_LIMIT_PER_MINUTE',
  'REDIS_WAIT_REPLICAS',
  ...Object.entries(new Env()).flatMap(([name, value]) =>
    typeof value === 'number' ? [name] : [],
  ),
]);
