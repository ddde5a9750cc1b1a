import { type RedisOptions } from 'ioredis';

const longestPauseMs = 500;

/**
 * How every client of the service connects. The driver never resends and never queues: the lock
 * engine alone repeats commands, and so it knows which ones may have been executed. After an outage
 * it reconnects within half a second, well before a lease ends.
 */
export const REDIS_OPTIONS: Readonly<RedisOptions> = Object.freeze({
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  keepAlive: 5_000,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, longestPauseMs),
  sentinelRetryStrategy: (attempt: number) => Math.min(50 * attempt, longestPauseMs),
  // 1: reconnect, and do not resend. An open connection may lead to a demoted primary.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
});
