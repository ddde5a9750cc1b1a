import type { ClusterOptions, RedisOptions } from 'ioredis';
import { LockOptionsError } from '../../core/lock.errors.js';
import type { RedisClient } from './lua-script.js';

/** Whether a server refuses to write since it is a replica, also within a script (before Redis 7). */
export function isReadOnly(message: string): boolean {
  return /(?:^|[ -])READONLY /.test(message);
}

/**
 * The client options that locks depend on; spread them into yours: `new Redis({ ...yours,
 * ...redisLockClientOptions })`. The driver neither resends nor queues commands, so that the engine
 * knows which of them may have run; a lost connection comes back within about a second, and a
 * demoted server is left.
 */
export const redisLockClientOptions = Object.freeze({
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  /** A connection without any answer for so long is given up; half-open ones would stay for minutes. */
  socketTimeout: 5_000,
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** (attempt - 1), 800) + Math.random() * 200,
  /** 1: reconnect, without sending the command again. */
  reconnectOnError: (error: Error) => (isReadOnly(error.message) ? 1 : false),
}) satisfies RedisOptions;

/**
 * The same for a cluster: `new Cluster(nodes, { ...yours, ...redisLockClusterOptions })`; what concerns
 * each connection, such as a password, goes beside its `redisOptions`. The driver follows redirections,
 * which are refusals, and repeats nothing else.
 */
export const redisLockClusterOptions = Object.freeze({
  enableOfflineQueue: false,
  /** 0: a command whose connection broke may have run, and is not sent again. */
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  clusterRetryStrategy: redisLockClientOptions.retryStrategy,
  redisOptions: Object.freeze({
    maxRetriesPerRequest: 0,
    connectTimeout: redisLockClientOptions.connectTimeout,
    socketTimeout: redisLockClientOptions.socketTimeout,
  }),
}) satisfies ClusterOptions;

/** @throws LockOptionsError when the client has an option under which locks would break quietly */
export function assertUsableClient(client: RedisClient): void {
  const isCluster = client.isCluster;
  const perNode = (isCluster && (client.options as ClusterOptions).redisOptions) || {};
  const options: Readonly<Record<string, unknown>> = { ...perNode, ...client.options };
  const keyPrefix = client.options.keyPrefix || perNode.keyPrefix;
  if (keyPrefix) {
    throw new LockOptionsError(
      `The Redis client has keyPrefix "${keyPrefix}", which would put a lock and its helper keys into different slots. Remove it and use the lock store's own prefix.`,
    );
  }
  for (const [name, value] of Object.entries(PLAIN_REPLIES)) {
    if ((options[name] ?? value) === value) continue;
    throw new LockOptionsError(
      `The Redis client has ${name}: ${String(options[name])}, which changes the replies that locks are read from. Remove it, or give the lock store a client of its own.`,
    );
  }
  const needed = isCluster ? neededOfCluster : neededOfOne;
  for (const [name, value] of Object.entries(needed)) {
    if (options[name] === value) continue;
    const source = isCluster ? 'redisLockClusterOptions' : 'redisLockClientOptions';
    throw new LockOptionsError(
      `The Redis client has ${name}: ${String(options[name])}, so the driver itself would repeat or delay lock commands. Set ${name}: ${String(value)}, or spread ${source} into the client's options.`,
    );
  }
}

/** Options that change replies, and the values with which they do not. */
const PLAIN_REPLIES = { stringNumbers: false, replyMapping: 'legacy' };

const neededOfOne = {
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
};

const neededOfCluster = {
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  clusterNodeRetryStrategy: null,
};

/** @throws LockOptionsError for a prefix that would break a key's hash tag */
export function assertUsablePrefix(prefix: string): void {
  if (!/[{}\s\p{Cc}]/u.test(prefix)) return;
  throw new LockOptionsError(
    `The lock prefix ${JSON.stringify(prefix)} holds braces, white space or control characters; use plain characters such as "lock:".`,
  );
}
