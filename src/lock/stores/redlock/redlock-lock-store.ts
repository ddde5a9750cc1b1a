import type { Redis } from 'ioredis';
import { type Clock, SystemClock } from '../../core/clock.js';
import {
  type AcquireReply,
  type BusyReply,
  type LockStore,
  type Place,
  type ReleaseReply,
  type Renewal,
  type RenewOutcome,
  SAFETY_MS,
  type StoreCapabilities,
  type StoredLock,
  type WakeListener,
} from '../../core/lock-store.js';
import { LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import { DEFAULT_LOCK_PREFIX } from '../redis/redis-lock-store.js';
import { checkNodes, startNodes } from './check-nodes.js';
import { ExpiringMap } from './expiring-map.js';
import { heldByQuorum, median, quorumOf } from './holders.js';
import { listLocks } from './list-locks.js';
import { mayHaveRun, RedlockNode } from './redlock-node.js';
import { type RedlockLockStoreOptions, resolveRedlockOptions } from './redlock-options.js';
import { type Standing, WaitingOrder } from './waiting-order.js';
import { type Answers, settled, settleEarly, valuesOf } from './settle-early.js';
import { nodeTroubles, TOO_FEW, UNCONFIRMED } from './node-troubles.js';
import {
  agreed,
  busyReplyOf,
  grantsOf,
  releaseVerdict,
  renewVerdict,
  roundVerdict,
} from './verdicts.js';

/** After a split, waiters look again within so many ms, at random. */
const BACK_OFF_MS = 60;

/** A try that is under way or has won, as long as a late grant of a node is welcome. */
interface Tried {
  fence?: bigint;
}

/**
 * Redlock over an odd number of independent Redis masters: a lock is held by whoever holds it on more
 * than half of them. On each node it looks as the Redis store's locks do. Survives the loss of any
 * minority; two round trips to all nodes per grant, the second of which gives the highest fence of
 * the granting quorum to a quorum before the work begins; one for everything else. One node keeps the order of
 * those who wait, of whom only the first asks the others.
 *
 * The engine refuses a grant that has less than half of its TTL left; that is Redlock's time check.
 */
export class RedlockLockStore implements LockStore {
  readonly kind = 'redlock';
  readonly undoesTries = true;
  readonly capabilities: StoreCapabilities;
  private readonly nodes: readonly RedlockNode[];
  private readonly longestTtlMs: number;
  private readonly tried: ExpiringMap<Tried>;
  private readonly order: WaitingOrder;
  private readonly reconnectListeners = new Set<() => void>();

  /** @throws LockOptionsError for clients, a prefix or times under which locks would break */
  constructor(
    options: RedlockLockStoreOptions,
    private readonly clock: Clock = new SystemClock(),
  ) {
    const { clients, prefix = DEFAULT_LOCK_PREFIX, ...times } = resolveRedlockOptions(options);
    const onFit = () => this.reconnectListeners.forEach((listener) => listener());
    const terms = { prefix, ...times };
    this.longestTtlMs = times.longestTtlMs;
    this.capabilities = {
      fairWaiting: true,
      confirmedGrants: true,
      fencesSurviveLoss: true,
      serverTime: true,
      ttlStepMs: 1,
      longestTtlMs: times.longestTtlMs,
    };
    this.nodes = clients.map(
      (client: Redis) => new RedlockNode(client, terms, clock, () => this.nodes, onFit),
    );
    this.tried = new ExpiringMap(times.longestTtlMs, clock);
    this.order = new WaitingOrder(this.nodes, prefix, clock);
  }

  /** @throws LockOptionsError where a node is a replica, or two are the same server; not where one is away */
  async start(): Promise<void> {
    await startNodes(this.nodes);
  }

  check(): Promise<readonly string[]> {
    return checkNodes(this.nodes);
  }

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    if (ttlMs > this.longestTtlMs) {
      throw new LockOptionsError(
        `The TTL ${ttlMs} ms is longer than the Redlock store's longestTtlMs (${this.longestTtlMs}), for which restarted nodes abstain. Lower it, or raise longestTtlMs in all processes.`,
        name,
      );
    }
    const tried: Tried = this.tried.get(token) ?? {};
    this.tried.set(token, tried);
    const isWanted = () => this.tried.get(token) === tried;
    const standing = place ? await this.order.stand(name, place) : null;
    if (standing && standing.before > 0) return this.busyBehind(name, ttlMs, standing);
    const others = place ? undefined : this.order.waiting(name, false);
    const asked = this.nodes.map((node) => node.tryAcquire(name, token, ttlMs, isWanted));
    const { verdict, answers } = await settled(asked, roundVerdict);
    const isOthers = verdict === 'won' && ((await others)?.queued ?? 0) > 0;
    const fence =
      verdict === 'won' && !isOthers
        ? await this.confirm(name, token, tried, asked, answers)
        : null;
    if (fence !== null) {
      if (place) void this.order.leave(name, place.process, true);
      const times = grantsOf(answers).map(({ storeTimeMs }) => storeTimeMs);
      return { status: 'granted', fence, storeTimeMs: median(times) ?? 0 };
    }
    const isClean = await this.undo(name, token, asked, answers);
    if (isOthers) return this.busyForFirst(name);
    if (verdict === 'busy') {
      const reply = { ...busyReplyOf(answers), queued: (await others)?.queued ?? 0 };
      return place ? this.wait(name, standing, reply) : reply;
    }
    // Those behind may see more of the nodes; with its ticket it comes back to where it stood.
    if (place) void this.order.leave(name, place.process, false);
    throw this.unavailable(name, answers, verdict === 'won' ? UNCONFIRMED : TOO_FEW, isClean);
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    // A longer one could not be kept: no verdict, as from a store that is away.
    const kept = renewals.filter(({ ttlMs }) => ttlMs <= this.longestTtlMs);
    if (kept.length === 0) return renewals.map(() => 'unknown');
    const asked = this.nodes.map((node) => node.vote((store) => store.renew(kept)));
    const outcomes = await settleEarly(asked, (answers) => renewVerdict(answers, kept.length));
    const byRenewal = new Map(kept.map((renewal, index) => [renewal, outcomes[index]]));
    return renewals.map((renewal) => byRenewal.get(renewal) ?? 'unknown');
  }

  /** To all nodes, in order after what was sent before: a grant that comes late is deleted, too. */
  async release(name: string, token: string, process: string): Promise<ReleaseReply> {
    this.tried.delete(token);
    const asked = this.nodes.map((node) => node.release(name, token, process));
    const { verdict, answers } = await settled(asked, releaseVerdict);
    if (valuesOf(answers.all).includes('released')) this.order.released(name);
    if (verdict !== 'unknown') return verdict;
    throw this.unavailable(name, answers);
  }

  leave(name: string, process: string): Promise<void> {
    return this.order.leave(name, process, false);
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const [{ verdict, answers }, { queued }] = await Promise.all([
      this.look(name),
      this.order.waiting(name, false),
    ]);
    if (verdict !== undefined) return verdict && { ...verdict, queued };
    throw this.unavailable(name, answers);
  }

  list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    return listLocks(this.nodes, (name) => this.inspect(name));
  }

  async revoke(name: string, token: string, process: string): Promise<boolean> {
    const asked = this.nodes.map((node) =>
      node.vote((store) => store.revoke(name, token, process)),
    );
    const { verdict, answers } = await settled(asked, agreed);
    if (verdict) return true;
    const refusals = valuesOf(answers.all).filter((value) => !value).length;
    if (refusals > this.nodes.length - quorumOf(this.nodes.length)) return false;
    throw this.unavailable(name, answers);
  }

  /** From any node: whose turn it is comes from the one that keeps the order, revocations from all. */
  onWake(process: string, listener: WakeListener): () => void {
    const stops = this.nodes.map((node) => node.onWake(process, listener));
    return () => stops.forEach((stop) => stop());
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
  }

  /** Gives the quorum's highest fence to a quorum that still holds the token; null where it cannot be had. */
  private async confirm(
    name: string,
    token: string,
    tried: Tried,
    asked: readonly Promise<AcquireReply>[],
    answers: Answers<AcquireReply>,
  ): Promise<bigint | null> {
    const fence = await this.fenceOf(tried, asked, answers);
    tried.fence = fence;
    const raised = this.nodes.map(async (node, index) => {
      const reply = await asked[index];
      return reply?.status === 'granted' && node.raiseFence(name, token, fence);
    });
    return (await settleEarly(raised, agreed)) ? fence : null;
  }

  /** The highest of the granting quorum; for a repeated try that of the first, where a quorum has it still. */
  private async fenceOf(
    { fence: first }: Tried,
    asked: readonly Promise<AcquireReply>[],
    answers: Answers<AcquireReply>,
  ): Promise<bigint> {
    const all =
      first === undefined
        ? answers
        : (await settled(asked, ({ pending }) => pending === 0 || undefined)).answers;
    const fences = grantsOf(all).map(({ fence }) => fence);
    const same = fences.filter((fence) => fence === first).length;
    if (first !== undefined && same >= quorumOf(this.nodes.length)) return first;
    return fences.reduce((most, one) => (one > most ? one : most), 0n);
  }

  /**
   * Deletes what the round has left or may have left, also on nodes whose answer is still to come. Waits for
   * those that have granted it. False where one of those did not answer.
   */
  private async undo(
    name: string,
    token: string,
    asked: readonly Promise<AcquireReply>[],
    { all }: Answers<AcquireReply>,
  ): Promise<boolean> {
    this.tried.delete(token);
    const undone = this.nodes.map(async (node, index) => {
      const needed = asked[index]?.then(
        ({ status }) => status === 'granted',
        (error: unknown) => mayHaveRun(error),
      );
      const released = needed?.then(async (isNeeded) => {
        if (isNeeded) await node.release(name, token, '');
      });
      const answer = all[index];
      const hasIt = answer && 'value' in answer && answer.value.status === 'granted';
      if (hasIt) await released;
      else released?.catch(() => undefined); // owed to it
    });
    const outcomes = await Promise.allSettled(undone);
    return outcomes.every(({ status }) => status === 'fulfilled');
  }

  /** Nobody announces the end of a split: the first one, if it finds no holder, looks again soon, at random. */
  private async wait(
    name: string,
    standing: Standing | null,
    reply: BusyReply,
  ): Promise<BusyReply> {
    const { queued, ticket } = standing ?? { queued: 0, ticket: undefined };
    const { verdict } = await this.look(name);
    const remainingMs = verdict === null ? this.clock.jitterMs(BACK_OFF_MS) : reply.remainingMs;
    return { ...reply, remainingMs, queued, ticket };
  }

  /**
   * Others come first. The one behind the first looks at the lock: where it is free, the first one's turn is
   * reserved, which a dead one misses. All others only keep their places.
   */
  private async busyBehind(name: string, ttlMs: number, standing: Standing): Promise<BusyReply> {
    const { before, queued, ticket } = standing;
    if (before > 1) {
      const remainingMs = Math.min(ttlMs, SAFETY_MS); // the holder's is not known, and is not what it waits for
      return { status: 'busy', remainingMs, heldForMs: undefined, queued, ticket };
    }
    const { verdict } = await this.look(name);
    const { remainingMs, heldForMs } = verdict ?? {
      remainingMs: (await this.order.waiting(name, true)).turnMs,
      heldForMs: undefined,
    };
    return { status: 'busy', remainingMs, heldForMs, queued, ticket };
  }

  /** One try that would have got the lock before those who wait for it, and has given it back. */
  private async busyForFirst(name: string): Promise<BusyReply> {
    const { queued, turnMs: remainingMs } = await this.order.waiting(name, true);
    return { status: 'busy', remainingMs, heldForMs: undefined, queued, ticket: undefined };
  }

  private async look(name: string) {
    const asked = this.nodes.map((node) => node.vote((store) => store.inspect(name)));
    const { answers } = await settled(asked, ({ pending }) => pending === 0 || undefined);
    return { verdict: heldByQuorum(valuesOf(answers.all), this.nodes.length), answers };
  }

  /** `gaveBack`: nothing of the try is left on a node that has answered. */
  private unavailable(name: string, { all }: Answers<unknown>, why = TOO_FEW, gaveBack = false) {
    const message = nodeTroubles(this.nodes, all, why);
    return new LockUnavailableError(name, message, { mayHaveRun: !gaveBack });
  }
}
