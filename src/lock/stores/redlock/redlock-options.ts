import type { Redis } from 'ioredis';
import { LockOptionsError } from '../../core/lock.errors.js';

/** What a Redlock store is made of. All processes must agree on it. Times in ms. */
export interface RedlockLockStoreOptions {
  /**
   * An odd number of clients, at least 3, of independent masters, made with `redisLockClientOptions`.
   * The store never closes them; it opens one more connection like each for hints.
   */
  readonly clients: readonly Redis[];
  /** @default 'lock:' */
  readonly prefix?: string | undefined;
  /**
   * How long one node may take for one answer; well below the TTL.
   * @default 250
   */
  readonly nodeTimeoutMs?: number | undefined;
  /**
   * The longest TTL of any lock; a longer one is refused. With `maxClockSkewMs`, how long a node does not
   * vote after a start: locks that it has forgotten may live elsewhere for so long.
   * @default 60000
   */
  readonly longestTtlMs?: number | undefined;
  /**
   * How far the clocks of nodes may be apart.
   * @default 60000
   */
  readonly maxClockSkewMs?: number | undefined;
}

const aDay = 86_400_000;

/** With defaults filled in. @throws LockOptionsError for what makes no Redlock */
export function resolveRedlockOptions({
  clients,
  prefix,
  nodeTimeoutMs = 250,
  longestTtlMs = 60_000,
  maxClockSkewMs = 60_000,
}: RedlockLockStoreOptions) {
  if (!Array.isArray(clients) || clients.length < 3 || clients.length % 2 === 0) {
    throw new LockOptionsError(
      `The redlock store has ${Array.isArray(clients) ? clients.length : 'no'} clients; it needs an odd number of independent masters, at least 3: an even one survives no more failures than the odd one below it.`,
    );
  }
  if (new Set(clients).size < clients.length) {
    throw new LockOptionsError('The redlock store has one client twice; give each node its own.');
  }
  if (clients.some(({ isCluster }) => isCluster)) {
    throw new LockOptionsError(
      'The redlock store does not take Cluster clients; give it one client per independent master.',
    );
  }
  checkMs('nodeTimeoutMs', nodeTimeoutMs, 1);
  checkMs('longestTtlMs', longestTtlMs, 100);
  checkMs('maxClockSkewMs', maxClockSkewMs, 0);
  return { clients, prefix, nodeTimeoutMs, longestTtlMs, maxClockSkewMs };
}

function checkMs(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least && value <= aDay) return;
  throw new LockOptionsError(
    `The redlock store has ${name}: ${String(value)}; it must be a whole number of milliseconds from ${least} to ${aDay}.`,
  );
}
