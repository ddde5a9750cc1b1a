import type { Redis } from 'ioredis';
import type {
  AcquireAllReply,
  AcquireReply,
  LockStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoredLock,
  TokenOf,
  WakeListener,
} from '../../core/lock-store.js';
import { LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import { DEFAULT_LOCK_PREFIX, RedisLockStore } from '../redis/redis-lock-store.js';
import { type Confirmation, isConfirmed, whyUnconfirmed } from './confirmation.js';
import { GrantLanes } from './grant-lanes.js';

const DEFAULT_CONFIRM_TIMEOUT_MS = 300;
const MOST_REPLICAS = 100;
const MOST_CONFIRM_TIMEOUT_MS = 60_000;

/** What a Redis lock store with replica confirmation is made of. */
export interface RedisWaitLockStoreOptions {
  /**
   * The client of the primary (single server, or Sentinel through its options), made with
   * `redisLockClientOptions`. The store never closes it; it opens one to four connections like it for
   * grants, and one for hints when somebody waits.
   */
  readonly client: Redis;
  /** @default 'lock:' */
  readonly prefix?: string | undefined;
  /**
   * How many replicas must have a grant before it counts, 1 to 100. Production sets it: a replica
   * that drops out lowers the default.
   * @default all that are connected, at least one
   */
  readonly replicas?: number | undefined;
  /**
   * How long the replicas may take, in ms, 1 to 60 000; keep it below `commandTimeoutMs`.
   * @default 300
   */
  readonly confirmTimeoutMs?: number | undefined;
}

/**
 * The Redis lock store with confirmation: a grant or renewal counts only when replicas have it (WAIT).
 * It narrows the window in which a failover loses a lock and does not close it: only a promoted
 * replica that is among those that confirmed has the lock. Two round trips per grant and renewal, the
 * second shared by all that are under way; one for everything else.
 */
export class RedisWaitLockStore implements LockStore {
  readonly kind = 'redis-wait';
  readonly undoesTries = true;
  readonly capabilities = {
    fairWaiting: true,
    waiterTickets: true,
    confirmedGrants: true,
    fencesSurviveLoss: true,
    serverTime: true,
    ttlStepMs: 1,
  };
  /** For all that needs no confirmation; its connection is never blocked by WAIT. */
  private readonly plain: RedisLockStore;
  private readonly lanes: GrantLanes;
  private readonly confirmTimeoutMs: number;

  /** @throws LockOptionsError for a client, prefix, number or time under which locks would break */
  constructor({
    client,
    prefix = DEFAULT_LOCK_PREFIX,
    replicas,
    confirmTimeoutMs = DEFAULT_CONFIRM_TIMEOUT_MS,
  }: RedisWaitLockStoreOptions) {
    if (client.isCluster) {
      throw new LockOptionsError(
        'The redis-wait lock store does not take a Cluster client, on which WAIT asks one node of many; pass the client of one primary (or of its Sentinels).',
      );
    }
    if (replicas !== undefined) checkNumber('replicas', replicas, MOST_REPLICAS);
    checkNumber('confirmTimeoutMs', confirmTimeoutMs, MOST_CONFIRM_TIMEOUT_MS);
    this.plain = new RedisLockStore({ client, prefix });
    this.confirmTimeoutMs = confirmTimeoutMs;
    this.lanes = new GrantLanes({ client, prefix, replicas, confirmTimeoutMs });
  }

  /** @throws LockOptionsError where the server does not let WAIT be used, or is no primary */
  async start(): Promise<void> {
    await this.plain.start();
    try {
      await this.lanes.start();
    } catch (error) {
      throw new LockOptionsError(
        `The redis-wait lock store cannot ask replicas for confirmation here: ${(error as Error).message}. Point it at a primary, allow its user WAIT (and ROLE where "replicas" is not set), or use the redis store.`,
      );
    }
  }

  check(): Promise<readonly string[]> {
    return this.plain.check();
  }

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    const { reply, confirmation } = await this.lanes.run(
      (store) => store.tryAcquire(name, token, ttlMs, place),
      isGrant,
    );
    return this.orUndone(reply, confirmation, [{ name, token }], place?.process);
  }

  async tryAcquireAll(locks: readonly TokenOf[], ttlMs: number): Promise<AcquireAllReply> {
    const { reply, confirmation } = await this.lanes.run(
      (store) => store.tryAcquireAll(locks, ttlMs),
      isGrant,
    );
    return this.orUndone(reply, confirmation, locks);
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    try {
      const { reply, confirmation } = await this.lanes.run(
        (store) => store.renew(renewals),
        (outcomes) => outcomes.includes('renewed'),
      );
      if (!confirmation || isConfirmed(confirmation)) return reply;
      return reply.map((outcome) => (outcome === 'renewed' ? 'unknown' : outcome));
    } catch {
      return renewals.map(() => 'unknown');
    }
  }

  release(name: string, token: string, process: string): Promise<ReleaseReply> {
    return this.plain.release(name, token, process);
  }

  leave(name: string, process: string): Promise<void> {
    return this.plain.leave(name, process);
  }

  inspect(name: string): Promise<StoredLock | null> {
    return this.plain.inspect(name);
  }

  list(): AsyncIterable<readonly (StoredLock & { readonly name: string })[]> {
    return this.plain.list();
  }

  revoke(name: string, token: string, process: string): Promise<boolean> {
    return this.plain.revoke(name, token, process);
  }

  onWake(process: string, listener: WakeListener): () => void {
    return this.plain.onWake(process, listener);
  }

  onReconnect(listener: () => void): () => void {
    const stops = [this.plain.onReconnect(listener), this.lanes.onReconnect(listener)];
    return () => stops.forEach((stop) => stop());
  }

  async close(): Promise<void> {
    this.lanes.close();
    await this.plain.close();
  }

  /** @throws LockUnavailableError, the grant undone, where too few replicas have it */
  private async orUndone<T>(
    reply: T,
    confirmation: Confirmation | undefined,
    locks: readonly TokenOf[],
    process = '',
  ): Promise<T> {
    if (!confirmation || isConfirmed(confirmation)) return reply;
    const undone = await Promise.allSettled(
      locks.map(({ name, token }) => this.plain.release(name, token, process)),
    );
    // Where it failed, the engine goes on undoing.
    const mayHaveRun = undone.some(({ status }) => status === 'rejected');
    const why = whyUnconfirmed(confirmation, this.confirmTimeoutMs);
    throw new LockUnavailableError(locks[0]?.name, why, { mayHaveRun });
  }
}

function isGrant({ status }: AcquireReply | AcquireAllReply): boolean {
  return status === 'granted';
}

function checkNumber(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new LockOptionsError(
    `The redis-wait lock store has ${name}: ${String(value)}; it must be a whole number from 1 to ${most}.`,
  );
}
