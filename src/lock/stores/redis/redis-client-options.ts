import type { Redis, RedisOptions } from 'ioredis';
import { LockOptionsError } from '../../core/lock.errors.js';

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
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
}) satisfies RedisOptions;

/** @throws LockOptionsError when the client has an option under which locks would break quietly */
export function assertUsableClient(client: Redis): void {
  if (client.isCluster) {
    throw new LockOptionsError(
      'The Redis lock store does not take a Cluster client; pass a Redis client.',
    );
  }
  const { options } = client;
  if (options.keyPrefix) {
    throw new LockOptionsError(
      `The Redis client has keyPrefix "${options.keyPrefix}", which would put a lock and its helper keys into different slots. Remove it and use the lock store's own prefix.`,
    );
  }
  for (const name of ['autoResendUnfulfilledCommands', 'enableOfflineQueue'] as const) {
    if (options[name] !== false) throw unsafe(name, options[name], false);
  }
  if (options.maxRetriesPerRequest !== 0) {
    throw unsafe('maxRetriesPerRequest', options.maxRetriesPerRequest, 0);
  }
}

function unsafe(name: string, value: unknown, needed: unknown): LockOptionsError {
  return new LockOptionsError(
    `The Redis client has ${name}: ${String(value)}, so the driver itself would repeat or delay lock commands. Set ${name}: ${String(needed)}, or spread redisLockClientOptions into the client's options.`,
  );
}
