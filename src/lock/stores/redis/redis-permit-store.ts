import type {
  AcquireReply,
  PermitHolder,
  PermitStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  WakeListener,
} from '../../core/lock-store.js';
import { busyReply, known, type PlaceAnswer, placeOf } from './answers.js';
import type { LuaScript, RedisClient } from './lua-script.js';
import { listOf, oneOf } from './answer-shapes.js';
import { permitScripts } from './permit-scripts.js';
import { assertUsableClient, assertUsablePrefix } from './redis-client-options.js';
import type { RedisServers } from './redis-servers.js';
import { RedisSubscriber } from './redis-subscriber.js';
import { serversOf } from './servers-of.js';
import { verdict } from './verdict.js';

/**
 * The rule that says which permit is next: a piece of Lua that defines `choose(now)` and
 * `granted(permit, now)`, as count-room.lua does and explains. It finds its arguments in `ROOM`, and
 * its own key in KEYS[5].
 */
export interface RoomScript {
  /** Joined in this order, after permits.lua. */
  readonly files: readonly URL[];
  /** What stands for `$NAME` in them. */
  readonly constants?: Readonly<Record<string, number | string>> | undefined;
  readonly args: readonly (string | number)[];
}

interface Connections {
  readonly servers: RedisServers;
  readonly subscriber: RedisSubscriber;
}

/** What a Redis permit store is made of. */
export interface RedisPermitStoreOptions {
  /** Made with `redisLockClientOptions` or `redisLockClusterOptions`; stays open. */
  readonly client: RedisClient;
  /** Put before every name; without braces and white space. */
  readonly prefix: string;
  readonly room: RoomScript;
  /** Those of the lock store whose semaphores these are; else the store opens its own. */
  readonly shared?: Connections | undefined;
}

/** Up to `permits` holders, whoever they are. */
export function countedRoom(permits: number): RoomScript {
  return { files: [new URL('./count-room.lua', import.meta.url)], args: [permits] };
}

type AcquireAnswer =
  | [
      granted: 1,
      fence: string,
      storeTimeMs: number,
      permit: string,
      nextLookMs: number,
      left: number,
    ]
  | [
      busy: 0,
      remainingMs: number,
      heldForMs: number,
      queued: number,
      closedMs: number,
      ...PlaceAnswer,
    ];

/** @throws LockUnavailableError for what acquire-permit.lua never answers */
function acquireAnswer(answer: unknown, name: string): AcquireAnswer {
  const kind = oneOf(listOf(answer, [], name)[0], [0, 1], name);
  if (kind === 1)
    listOf(answer, ['number', 'string', 'number', 'string', 'number', 'number'], name);
  else listOf(answer, ['number', 'number', 'number', 'number', 'number'], name);
  return answer as AcquireAnswer;
}

/**
 * Permits on Redis, as its locks are: who holds what until when is kept twice, as a sorted set and as a hash,
 * on the server's time; the keys of a name share a slot. One round trip per operation.
 */
export class RedisPermitStore implements PermitStore {
  readonly kind = 'redis';
  private readonly client: RedisClient;
  private readonly prefix: string;
  private readonly room: RoomScript;
  private readonly scripts: ReturnType<typeof permitScripts>;
  private readonly connections: Connections;
  private readonly ownsConnections: boolean;

  /** @throws LockOptionsError for a client or prefix under which permits would break */
  constructor({ client, prefix, room, shared }: RedisPermitStoreOptions) {
    assertUsableClient(client);
    assertUsablePrefix(prefix);
    this.client = client;
    this.prefix = prefix;
    this.room = room;
    const channel = `${prefix}wake:`;
    this.scripts = permitScripts(channel, room);
    this.ownsConnections = shared === undefined;
    this.connections = shared ?? ownConnections(client, channel, prefix);
  }

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    const asker = [place?.process ?? '', place?.ticket ?? '', place?.nextTicket ?? ''];
    const args = [this.prefix + name, token, ttlMs, ...asker, ...this.room.args];
    const answer = acquireAnswer(await this.ask(name, this.scripts.acquire, args), name);
    if (answer[0] === 1) {
      const [, fence, storeTimeMs, permit, nextLookMs, left] = answer;
      return {
        status: 'granted',
        fence: BigInt(fence),
        storeTimeMs,
        permit: named(permit),
        nextLookMs: known(nextLookMs),
        left,
      };
    }
    const [, remainingMs, heldForMs, queued, closedMs, ...standing] = answer;
    return {
      ...busyReply(remainingMs, heldForMs, queued),
      ...placeOf(standing),
      closedMs: closedMs === -2 ? Infinity : known(closedMs),
    };
  }

  /** One script for each name, all in flight together. */
  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const indexes = new Map<string, number[]>();
    renewals.forEach(({ name }, index) => {
      const those = indexes.get(name);
      if (those) those.push(index);
      else indexes.set(name, [index]);
    });
    const outcomes = renewals.map((): RenewOutcome => 'unknown');
    await Promise.all(
      [...indexes].map(async ([name, those]) => {
        const args = those.flatMap((index) => {
          const { token = '', ttlMs = 0 } = renewals[index] ?? {};
          return [token, ttlMs];
        });
        // No answer, no verdict: all of them stay unknown.
        const answers = await this.ask(name, this.scripts.renew, args).catch(() => []);
        if (!Array.isArray(answers) || answers.length !== those.length) return;
        those.forEach((index, at) => {
          const answer: unknown = answers[at];
          if (answer === 1) outcomes[index] = 'renewed';
          else if (answer === 0) outcomes[index] = 'not-owner';
        });
      }),
    );
    return outcomes;
  }

  async release(name: string, token: string, process: string): Promise<ReleaseReply> {
    const args = [this.prefix + name, token, ...this.room.args];
    const reply = oneOf(await this.ask(name, this.scripts.release, args), [0, 1, 2], name);
    // Next is another waiter of the same process: no message was needed for that.
    if (reply === 2) this.connections.subscriber.tell(process, name, 'turn');
    return reply === 0 ? 'not-held' : 'released';
  }

  async leave(name: string, process: string): Promise<void> {
    const args = [this.prefix + name, process, ...this.room.args];
    await this.ask(name, this.scripts.leave, args);
  }

  async holders(name: string): Promise<readonly PermitHolder[]> {
    const answer = await this.ask(name, this.scripts.holders, []);
    return listOf(answer, [], name).map((one) => {
      const form = ['string', 'string', 'number', 'string'] as const;
      const [token, fence, remainingMs, permit] = listOf(one, form, name);
      return { token, fence: BigInt(fence), remainingMs, permit: named(permit) };
    });
  }

  onWake(process: string, listener: WakeListener): () => void {
    return this.connections.subscriber.add(process, listener);
  }

  onReconnect(listener: () => void): () => void {
    return this.connections.servers.onConnect(listener);
  }

  /**
   * Runs a script of the rule, which is given the keys of permits.lua. One round trip.
   * @throws LockUnavailableError
   */
  ask(name: string, script: LuaScript, args: readonly (string | number)[]): Promise<unknown> {
    const permits = `{${this.prefix}${name}}:permits`;
    const parts = [':holders', ':fence', ':waiters', ':room'].map((part) => permits + part);
    return verdict(this.client, name, () =>
      script.run(this.client, { keys: [permits, ...parts], args }),
    );
  }

  /** Ends what the store itself opened. */
  close(): void {
    if (!this.ownsConnections) return;
    this.connections.subscriber.close();
    this.connections.servers.close();
  }
}

function ownConnections(client: RedisClient, channel: string, prefix: string): Connections {
  const servers = serversOf(client);
  return { servers, subscriber: new RedisSubscriber(servers, channel, prefix) };
}

function named(text: string): string | undefined {
  return text === '' ? undefined : text;
}
