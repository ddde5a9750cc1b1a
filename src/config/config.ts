/** As whom Redis servers are spoken to, and whether with TLS. */
export interface RedisAccess {
  readonly username: string | undefined;
  /** Secret. */
  readonly password: string | undefined;
  readonly tls: boolean;
}

interface Server {
  readonly host: string;
  readonly port: number;
}

/** Where the Redis of this service is. */
export type RedisAddress =
  | { readonly kind: 'single'; readonly url: string }
  | {
      readonly kind: 'sentinel';
      readonly sentinels: readonly Server[];
      readonly sentinelAccess: RedisAccess;
      /** The primary's name as the sentinels know it. */
      readonly name: string;
      /** To the primary. */
      readonly access: RedisAccess;
    }
  | {
      readonly kind: 'cluster';
      /** Some nodes, through which the others are found. */
      readonly nodes: readonly Server[];
      readonly access: RedisAccess;
    };

/** Where locks live. */
export type LockStoreKind =
  'memory' | 'redis' | 'redis-wait' | 'redlock' | 'etcd' | 'zookeeper' | 'postgres';

/** An OpenAI-compatible server and the keys to it, which all replicas share. */
export interface LlmConfig {
  readonly baseUrl: string;
  /** Secret. */
  readonly apiKeys: readonly string[];
  /** null: it answers no questions. */
  readonly chatModel: string | null;
  /** null: the built-in embedder is used. */
  readonly embed: { readonly model: string; readonly dimensions: number } | null;
  readonly keyConcurrency: number;
  /** Per key; null: no limit of ours. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  /** How long a request waits for a free key, and how long one call may take. */
  readonly waitMs: number;
  readonly timeoutMs: number;
}

/** Everything that can be set, validated, typed and frozen. Durations in ms, sizes in bytes or characters. */
export interface AppConfig {
  /** Names this replica in `X-Served-By`, in logs and in the owner's label of its locks. */
  readonly instanceId: string;
  readonly http: {
    readonly host: string;
    /** Whether only this machine can reach it. */
    readonly isLoopback: boolean;
    /** 0 lets the system choose. */
    readonly port: number;
    /** The largest upload, in bytes. */
    readonly uploadLimitBytes: number;
    /** How long requests and background work may go on after SIGTERM. */
    readonly shutdownGraceMs: number;
    /** How long after SIGTERM requests are still taken while the replica already says that it is not ready. */
    readonly shutdownDelayMs: number;
    /** Whose `X-Forwarded-For` is believed: addresses, networks, or Fastify's words for some. */
    readonly trustProxy: readonly string[];
    /** What one client may send to one route that writes; 0: as much as it likes. */
    readonly rateLimitPerMinute: number;
  };
  /** Who may do what; see Principals. */
  readonly access: {
    /** SHA-256 of every token that may write, in hex. */
    readonly apiTokens: readonly string[];
    /** SHA-256 of the token that may do everything, in hex. */
    readonly adminToken: string | null;
  };
  /** An absolute path. */
  readonly dataDir: string;
  /** PostgreSQL, or null for the SQLite file in `dataDir`. */
  readonly databaseUrl: string | null;
  /** The ChromaDB server that keeps the vectors, or null for the database itself. */
  readonly chromaUrl: string | null;
  readonly redis: RedisAddress | null;
  /** What the lock store redis-wait wants of the replicas of `redis`. */
  readonly redisWait: {
    /** How many must have a grant; undefined: all that are connected, at least one. */
    readonly replicas: number | undefined;
    readonly confirmTimeoutMs: number;
  };
  /** The independent masters of the lock store redlock, or null where locks are elsewhere. */
  readonly redlock: {
    readonly urls: readonly string[];
    readonly maxClockSkewMs: number;
  } | null;
  /** The members of the etcd cluster, or null where locks are elsewhere. */
  readonly etcd: {
    readonly endpoints: readonly string[];
    /** Files that show who this service is; null: nothing does. */
    readonly clientCertificate: { readonly certFile: string; readonly keyFile: string } | null;
  } | null;
  /** The servers of the ZooKeeper ensemble, or null where locks are elsewhere. */
  readonly zookeeper: { readonly servers: readonly string[] } | null;
  readonly lock: {
    readonly store: LockStoreKind;
    readonly prefix: string;
    /** Added to every fence of the store. */
    readonly fenceBase: number;
    readonly ttlMs: number;
    readonly waitMs: number;
    readonly maxHoldMs: number;
    readonly commandTimeoutMs: number;
  };
  readonly documents: {
    readonly embedWorkers: number;
    /** How many documents this replica works on at once. */
    readonly concurrency: number;
    /** How many documents all replicas together have waiting or under way at most. */
    readonly queueLimit: number;
    /** How long a request waits until its document comes to its turn. */
    readonly queueWaitMs: number;
    /** Characters per chunk, and how many of them the next chunk repeats. */
    readonly chunkSize: number;
    readonly chunkOverlap: number;
    /** What is too large or too slow to be read. */
    readonly extract: {
      readonly maxPages: number;
      readonly maxTextChars: number;
      readonly maxTimeMs: number;
    };
    /** Slows every stage, and every batch of the archiver, for people who want to watch. */
    readonly stepDelayMs: number;
  };
  readonly archive: {
    /** When the archiver runs, on the clock of `timeZone`. */
    readonly cron: string;
    readonly timeZone: string;
    /** Conversations older than that are archived. */
    readonly afterDays: number;
  };
  /** The language model, or null where none is set up: then passages alone answer. */
  readonly llm: LlmConfig | null;
  readonly idempotency: {
    /** How long an answer is kept under its key. */
    readonly ttlMs: number;
  };
  /** How often expired and orphaned data is looked for. */
  readonly upkeepIntervalMs: number;
  readonly logFormat: 'pretty' | 'json';
}

/** The injection token of the service's AppConfig. */
export const APP_CONFIG = Symbol('AppConfig');
