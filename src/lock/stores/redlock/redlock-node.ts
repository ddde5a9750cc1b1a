import type { Redis } from 'ioredis';
import type { Clock } from '../../core/clock.js';
import type {
  AcquireReply,
  ReleaseReply,
  StoredLock,
  WakeListener,
} from '../../core/lock-store.js';
import { LockUnavailableError } from '../../core/lock.errors.js';
import { withDeadline } from '../../core/with-deadline.js';
import { oneOf } from '../redis/answer-shapes.js';
import { lockKeys } from '../redis/lock-keys.js';
import { type LuaCall, LuaScript } from '../redis/lua-script.js';
import { RedisLockStore } from '../redis/redis-lock-store.js';
import { ExpiringMap } from './expiring-map.js';
import { abstentionMs, type NodeFacts, nodeFacts } from './node-facts.js';

const raiseFence = new LuaScript({ files: ['../redlock/raise-fence.lua'] });

/** What all nodes of a store work by. */
export interface NodeTerms {
  readonly prefix: string;
  readonly nodeTimeoutMs: number;
  readonly longestTtlMs: number;
  readonly maxClockSkewMs: number;
}

/** Why a node does not vote. A `defect` does not go away by itself. */
class NoVote extends Error {
  constructor(
    why: string,
    readonly isDefect = false,
  ) {
    super(why);
  }
}

/**
 * One of the independent servers: a Redis lock store, and whether it votes. On each new connection it
 * is first asked who it is: one that has started lately, or is no master of its own, does not vote.
 */
export class RedlockNode {
  readonly label: string;
  private readonly store: RedisLockStore;
  /** Resolves when it may vote, by what is known of the present connection; rejects with why not. */
  private fitness: Promise<void> = refused(new NoVote('it is not connected'));
  private runId: string | undefined;
  private abstainsUntilMs = 0;
  /** Deletions without an answer, by token: sent again on the next connection. */
  private readonly owed: ExpiringMap<string>;
  private readonly onReady = () => this.connected();
  private readonly onClose = () => {
    this.fitness = refused(new NoVote('it is not connected'));
  };

  constructor(
    private readonly client: Redis,
    private readonly terms: NodeTerms,
    private readonly clock: Clock,
    private readonly others: () => readonly RedlockNode[],
    private readonly onFit: () => void,
  ) {
    const { host, port } = client.options;
    this.label = `${host}:${port}`;
    this.store = new RedisLockStore({ client, prefix: terms.prefix });
    this.owed = new ExpiringMap(terms.longestTtlMs, clock);
    client.on('ready', this.onReady).on('close', this.onClose);
    if (client.status === 'ready') this.connected();
  }

  /** The same for all processes until the server is restarted; '' where it is not known yet. */
  get id(): string {
    return this.runId ?? '';
  }

  get isConnected(): boolean {
    return this.client.status === 'ready';
  }

  /** Connects it, and looks at it for up to `timeoutMs`. Resolves with what is wrong with it for good, if anything. */
  async start(timeoutMs: number): Promise<string | undefined> {
    await withDeadline(this.firstConnection(), this.clock, timeoutMs).catch(() => undefined);
    const verdict = withDeadline(this.fitness, this.clock, timeoutMs);
    return verdict.then(
      () => undefined,
      (error: unknown) => (error instanceof NoVote && error.isDefect ? error.message : undefined),
    );
  }

  /** What may break locks on it, as the Redis store checks it, whether it votes or not. @throws, also after `timeoutMs` */
  check(timeoutMs: number): Promise<readonly string[]> {
    return withDeadline(this.store.check(), this.clock, timeoutMs);
  }

  /** Asks it, if it votes. @throws in time where it does not, or gives no answer */
  vote<T>(send: (store: RedisLockStore) => Promise<T>): Promise<T> {
    return this.bounded(this.whenFit(() => send(this.store)));
  }

  /**
   * As `vote`. A grant that comes when it is not wanted any more is given back; so is one that may have
   * come to nobody's knowledge.
   */
  tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    isWanted: () => boolean,
  ): Promise<AcquireReply> {
    const sent = this.whenFit(() => {
      if (!isWanted()) throw new NoVote('it was too late');
      return this.store.tryAcquire(name, token, ttlMs);
    });
    const giveBack = () => {
      if (!isWanted()) this.release(name, token, '').catch(() => undefined); // owed now
    };
    sent.then(
      ({ status }) => status === 'granted' && giveBack(),
      (error: unknown) => mayHaveRun(error) && giveBack(),
    );
    return this.bounded(sent);
  }

  /** Whether the lock still holds the token here, and its fence is not below `fence` any more. */
  async raiseFence(name: string, token: string, fence: bigint): Promise<boolean> {
    const { lock, fence: fenceKey, queue } = lockKeys(this.terms.prefix, name);
    const call = { keys: [lock, fenceKey, queue], args: [token, String(fence)] };
    const sent = this.whenFit(() => raiseFence.run(this.client, call));
    return oneOf(await this.bounded(sent), [0, 1], name) === 1;
  }

  /**
   * Deletes the token's lock, voting or not, on the next connection if this one has no answer.
   * @throws where there is none yet, or it does not count
   */
  async release(name: string, token: string, process: string): Promise<ReleaseReply> {
    this.owed.set(token, name);
    const sent = this.store.release(name, token, process);
    sent.then(
      () => this.owed.delete(token),
      () => undefined, // still owed
    );
    const reply = await this.bounded(sent);
    await this.bounded(this.whenFit(async () => undefined));
    return reply;
  }

  /** Its locks, page by page, if it votes. */
  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    const pages = this.store.list()[Symbol.asyncIterator]();
    for (;;) {
      const page = await this.vote(() => pages.next());
      if (page.done) return;
      yield page.value;
    }
  }

  /** Runs a script that decides nothing about locks, whether it votes or not. @throws in time where it gives no answer */
  run(script: LuaScript, call: LuaCall): Promise<unknown> {
    return this.bounded(script.run(this.client, call));
  }

  onWake(process: string, listener: WakeListener): () => void {
    return this.store.onWake(process, listener);
  }

  async close(): Promise<void> {
    this.client.off('ready', this.onReady).off('close', this.onClose);
    await this.store.close();
  }

  private bounded<T>(sent: Promise<T>): Promise<T> {
    // Whoever asked has a deadline of its own that keeps the process alive.
    return withDeadline(sent, this.clock, this.terms.nodeTimeoutMs, { background: true });
  }

  private async whenFit<T>(send: () => Promise<T>): Promise<T> {
    let known: Promise<void>;
    do {
      known = this.fitness;
      await known;
    } while (known !== this.fitness); // another connection, perhaps to another server
    const restMs = this.abstainsUntilMs - this.clock.now().monoMs;
    if (restMs > 0) {
      const restS = Math.ceil(restMs / 1000);
      throw new NoVote(`it has started lately and does not vote for another ${restS} s`);
    }
    return send();
  }

  private async firstConnection(): Promise<void> {
    await this.store.start();
    if (this.client.status === 'ready') return;
    await new Promise<void>((resolve) => {
      this.client.once('ready', () => resolve());
      this.client.once('close', () => resolve());
    });
  }

  private connected(): void {
    this.fitness = this.examine();
    this.fitness.then(this.onFit, () => undefined); // told to those who ask it
    for (const [token, name] of this.owed.living()) {
      this.release(name, token, '').catch(() => undefined); // owed again
    }
  }

  private async examine(): Promise<void> {
    let facts: NodeFacts;
    try {
      const info = await Promise.all(
        ['server', 'replication'].map((part) => this.client.info(part)),
      );
      facts = nodeFacts(info.join('\n'));
    } catch (error) {
      const { message, name } = error as Error;
      throw new NoVote(`it does not tell who it is: ${message}`, name === 'ReplyError');
    }
    const { runId, role } = facts;
    const { longestTtlMs, maxClockSkewMs } = this.terms;
    const restMs = abstentionMs(facts, this.runId, longestTtlMs + maxClockSkewMs);
    this.abstainsUntilMs = Math.max(this.abstainsUntilMs, this.clock.now().monoMs + restMs);
    this.runId = runId;
    if (role !== 'master') throw new NoVote(`it is a ${role}, not a master of its own`, true);
    const twin = this.others().find((one) => one !== this && one.runId === runId);
    if (twin) throw new NoVote(`it is the same server as ${twin.label} (run id ${runId})`, true);
  }
}

/** Whether a try that failed so may have taken the lock, or may do so yet. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof NoVote) return false;
  return !(error instanceof LockUnavailableError) || error.mayHaveRun;
}

/** A promise that is rejected, and that nobody has to look at. */
function refused(why: Error): Promise<void> {
  const promise = Promise.reject<void>(why);
  promise.catch(() => undefined);
  return promise;
}
