import type { Redis } from 'ioredis';
import type {
  AcquireAllReply,
  AcquireReply,
  LockStore,
  PermitStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoredLock,
  TokenOf,
  WakeListener,
} from '../../core/lock-store.js';
import { LockUnavailableError } from '../../core/lock.errors.js';
import { lockKeys } from './lock-keys.js';
import type { LuaScript, RedisClient } from './lua-script.js';
import { listOf, oneOf, unknownAnswer } from './answer-shapes.js';
import {
  acquireAllReply,
  acquireAnswer,
  acquireReply,
  inspectAnswer,
  renewOutcomes,
  storedLock,
} from './answers.js';
import { assertUsableClient, assertUsablePrefix, isReadOnly } from './redis-client-options.js';
import { countedRoom, RedisPermitStore } from './redis-permit-store.js';
import type { RedisServers } from './redis-servers.js';
import { RedisSubscriber } from './redis-subscriber.js';
import { isAboutSlots, ScriptBatch } from './script-batch.js';
import { type LockScripts, lockScripts } from './scripts.js';
import { serversOf } from './servers-of.js';
import { checkStore } from './store-check.js';
import { verdict } from './verdict.js';

/** What lock keys begin with where nothing else is said. */
export const DEFAULT_LOCK_PREFIX = 'lock:';

/** What a Redis lock store is made of. */
export interface RedisLockStoreOptions {
  /**
   * The client: of a single server, or of Sentinel through its options, made with
   * `redisLockClientOptions`; or of a cluster, made with `redisLockClusterOptions`. The store never closes
   * it; it opens one more connection like it for hints, when somebody waits.
   */
  readonly client: RedisClient;
  /**
   * Put before every name; part of the wire format that other clients share.
   * @default 'lock:'
   */
  readonly prefix?: string | undefined;
}

/**
 * Locks on one Redis server (6.2 or later; Valkey too), on the master that Sentinel names, or on the
 * masters of a cluster. The lock is a plain string key, `lock:<name>`, as every client of the SET NX PX
 * recipe has it; a failover or a restart without persistence can lose it. One round trip per operation.
 */
export class RedisLockStore implements LockStore {
  readonly kind = 'redis';
  readonly capabilities = {
    fairWaiting: true,
    waiterTickets: true,
    confirmedGrants: false,
    fencesSurviveLoss: true,
    serverTime: true,
    ttlStepMs: 1,
  };
  private readonly client: RedisClient;
  private readonly servers: RedisServers;
  private readonly prefix: string;
  private readonly channel: string;
  private readonly scripts: LockScripts;
  private readonly acquires: ScriptBatch;
  private readonly releases: ScriptBatch;
  private readonly subscriber: RedisSubscriber;
  /** Cleared for good when the server turns out to spread keys over slots. */
  private batches: boolean;

  /** @throws LockOptionsError for a client or prefix under which locks would break */
  constructor({ client, prefix = DEFAULT_LOCK_PREFIX }: RedisLockStoreOptions) {
    assertUsableClient(client);
    assertUsablePrefix(prefix);
    this.client = client;
    this.servers = serversOf(client);
    this.batches = this.servers.isOne;
    this.prefix = prefix;
    this.channel = `${prefix}wake:`;
    this.scripts = lockScripts(this.channel);
    const { acquire, acquireMany, release, releaseMany } = this.scripts;
    this.acquires = new ScriptBatch(client, { one: acquire, many: acquireMany }, this.batches);
    this.releases = new ScriptBatch(client, { one: release, many: releaseMany }, this.batches);
    this.subscriber = new RedisSubscriber(this.servers, this.channel, prefix);
  }

  /** Connects a lazy client. A server that is away is no error here: locks are unavailable until it comes. */
  async start(): Promise<void> {
    await this.servers.start();
  }

  check(): Promise<readonly string[]> {
    const { client, servers, prefix, channel } = this;
    return verdict(client, undefined, () =>
      checkStore({ store: this, client, servers, prefix, channel }),
    );
  }

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    const { lock, fence, queue } = lockKeys(this.prefix, name);
    const keys = [lock, fence, queue];
    const reply = await (place
      ? this.ask(name, this.scripts.acquire, keys, [
          token,
          ttlMs,
          place.process,
          place.ticket ?? '',
          place.nextTicket ?? '',
        ])
      : this.guard(name, () => this.acquires.run({ keys, args: [token, ttlMs] })));
    return acquireReply(acquireAnswer(reply, name));
  }

  async tryAcquireAll(locks: readonly TokenOf[], ttlMs: number): Promise<AcquireAllReply> {
    const keys = locks.flatMap(({ name }) => {
      const { lock, fence, queue } = lockKeys(this.prefix, name);
      return [lock, fence, queue];
    });
    const args = [ttlMs, ...locks.map(({ token }) => token)];
    const first = locks[0]?.name;
    const reply = await this.ask(first, this.scripts.acquireAll, keys, args).catch(apart);
    if (reply === 'apart') return { status: 'apart' };
    return acquireAllReply(reply, locks);
  }

  semaphores(permits: number): PermitStore {
    const { client, prefix, servers, subscriber } = this;
    const room = countedRoom(permits);
    return new RedisPermitStore({ client, prefix, room, shared: { servers, subscriber } });
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    if (!this.batches) return this.renewEach(renewals);
    const outcomes = await this.renewTogether(renewals);
    return this.batches ? outcomes : this.renewEach(renewals);
  }

  async release(name: string, token: string, process: string): Promise<ReleaseReply> {
    const { lock, queue } = lockKeys(this.prefix, name);
    const call = { keys: [lock, queue], args: [token] };
    const reply = oneOf(await this.guard(name, () => this.releases.run(call)), [0, 1, 2, 3], name);
    // Next is another waiter of the same process: no message was needed for that.
    if (reply === 2) this.subscriber.tell(process, name, 'turn');
    return reply === 0 || reply === 3 ? 'not-held' : 'released';
  }

  async leave(name: string, process: string): Promise<void> {
    const { lock, queue } = lockKeys(this.prefix, name);
    await this.ask(name, this.scripts.leave, [lock, queue], [process]);
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const { lock, fence, queue } = lockKeys(this.prefix, name);
    const reply = await this.ask(name, this.scripts.inspect, [lock, fence, queue], []);
    const answer = inspectAnswer(reply, name);
    return answer && storedLock(answer);
  }

  /** By SCAN on every master, whose pages of about 500 keys do not stall the server. */
  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    for (const master of await this.guard(undefined, async () => this.servers.masters())) {
      yield* this.listOn(master);
    }
  }

  private async *listOn(
    master: Redis,
  ): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    const match = `${this.prefix.replaceAll(/[*?[\]\\^]/g, '\\$&')}*`;
    let cursor = '0';
    do {
      const [next, keys] = await this.scan(master, cursor, match);
      cursor = next;
      const names = keys
        .filter((key) => !key.startsWith('{')) // helper keys, where the prefix is empty
        .map((key) => key.slice(this.prefix.length));
      const all = await Promise.all(
        names.map(async (name) => ({ name, stored: await this.inspect(name) })),
      );
      yield all.flatMap(({ name, stored }) => (stored ? [{ name, ...stored }] : []));
    } while (cursor !== '0');
  }

  async revoke(name: string, token: string, process: string): Promise<boolean> {
    const { lock, queue } = lockKeys(this.prefix, name);
    const args = [token, this.channel + process];
    const reply = await this.ask(name, this.scripts.revoke, [lock, queue], args);
    return oneOf(reply, [0, 1], name) === 1;
  }

  onWake(process: string, listener: WakeListener): () => void {
    return this.subscriber.add(process, listener);
  }

  onReconnect(listener: () => void): () => void {
    return this.servers.onConnect(listener);
  }

  async close(): Promise<void> {
    this.subscriber.close();
    this.servers.close();
  }

  private renewEach(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    return Promise.all(
      renewals.map(async (renewal) => (await this.renewTogether([renewal]))[0] ?? 'unknown'),
    );
  }

  private async renewTogether(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const keys = renewals.map(({ name }) => lockKeys(this.prefix, name).lock);
    const args = renewals.flatMap(({ token, ttlMs }) => [token, ttlMs]);
    try {
      const answer = await this.ask(undefined, this.scripts.renew, keys, args);
      const replies = listOf(answer, [], undefined);
      if (replies.length !== renewals.length) throw unknownAnswer(answer, undefined);
      // Errors that come as text are none to the driver, which would reconnect.
      if (replies.some((reply) => isReadOnly(String(reply)))) this.servers.leaveReplica();
      return replies.map((reply) =>
        typeof reply === 'number' ? (renewOutcomes[reply] ?? 'unknown') : 'unknown',
      );
    } catch (error) {
      if (renewals.length > 1 && isAboutSlots((error as Error).cause)) this.batches = false;
      return renewals.map(() => 'unknown');
    }
  }

  private scan(
    master: Redis,
    cursor: string,
    match: string,
  ): Promise<[cursor: string, keys: string[]]> {
    return this.guard(undefined, () =>
      master.scan(cursor, 'MATCH', match, 'COUNT', 500, 'TYPE', 'string'),
    );
  }

  private ask(
    name: string | undefined,
    script: LuaScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    return this.guard(name, () => script.run(this.client, { keys, args }));
  }

  private guard<T>(name: string | undefined, command: () => Promise<T>): Promise<T> {
    return verdict(this.client, name, command);
  }
}

/** Keys of several slots are no trouble where the engine can take the locks one after the other. */
function apart(error: unknown): 'apart' {
  if (error instanceof LockUnavailableError && isAboutSlots(error.cause)) return 'apart';
  throw error;
}
