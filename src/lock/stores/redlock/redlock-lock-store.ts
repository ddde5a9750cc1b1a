import type { Redis } from 'ioredis';
import { type Clock, SystemClock } from '../../core/clock.js';
import type {
  AcquireReply,
  BusyReply,
  LockStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoreCapabilities,
  StoredLock,
  WakeListener,
} from '../../core/lock-store.js';
import { LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import { DEFAULT_LOCK_PREFIX } from '../redis/redis-lock-store.js';
import { checkNodes } from './check-nodes.js';
import { ExpiringMap } from './expiring-map.js';
import { FreeHints } from './free-hints.js';
import { heldByQuorum, median, quorumOf } from './holders.js';
import { listLocks } from './list-locks.js';
import { mayHaveRun, RedlockNode } from './redlock-node.js';
import { type RedlockLockStoreOptions, resolveRedlockOptions } from './redlock-options.js';
import { type Answers, settleEarly, valuesOf } from './settle-early.js';
import { nodeTroubles, TOO_FEW, UNCONFIRMED } from './node-troubles.js';
import { agreed, busyReplyOf, releaseVerdict, renewVerdict, roundVerdict } from './verdicts.js';

/** How long the first look at the nodes may take, in ms; one that is away then is looked at later. */
const START_TIMEOUT_MS = 3_000;

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
 * the granting quorum to a quorum before the work begins; one for everything else. Waiters are woken
 * by hints and look at random: no order is kept.
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
  private readonly hints: FreeHints;
  private readonly listeners = new Map<string, WakeListener>();
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
      fairWaiting: false,
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
    this.hints = new FreeHints(this.nodes, clock, (process, name) =>
      this.listeners.get(process)?.(name, 'turn'),
    );
  }

  /** @throws LockOptionsError where a node is a replica, or two are the same server; not where one is away */
  async start(): Promise<void> {
    const defects = await Promise.all(
      this.nodes.map(async (node) => [node.label, await node.start(START_TIMEOUT_MS)] as const),
    );
    const found = defects.filter(([, defect]) => defect !== undefined);
    if (found.length === 0) return;
    throw new LockOptionsError(
      `The Redlock nodes are not independent: ${found.map(([label, defect]) => `${label}: ${defect}`).join('; ')}. Give each its own Redis master, on a machine of its own, and let its user call INFO.`,
    );
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
    const asked = this.nodes.map((node) => node.tryAcquire(name, token, ttlMs, isWanted));
    const { verdict, answers } = await settled(asked, roundVerdict);
    const fence = verdict === 'won' ? await this.confirm(name, token, tried, asked, answers) : null;
    if (fence !== null) {
      if (place) this.hints.leave(name, place.process);
      const times = granted(answers).map(({ storeTimeMs }) => storeTimeMs);
      return { status: 'granted', fence, storeTimeMs: median(times) ?? 0 };
    }
    const isClean = await this.undo(name, token, asked, answers);
    if (verdict === 'busy') {
      const reply = busyReplyOf(answers);
      return place ? this.wait(name, place, reply) : reply;
    }
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
    if (valuesOf(answers.all).includes('released')) this.announce(name);
    if (verdict !== 'unknown') return verdict;
    throw this.unavailable(name, answers);
  }

  /** There is no line to leave, only the announcements. */
  async leave(name: string, process: string): Promise<void> {
    this.hints.leave(name, process);
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const { verdict, answers } = await this.look(name);
    if (verdict !== undefined) return verdict;
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

  /** Revocations come from any node; that a lock may be free comes from the announcements. */
  onWake(process: string, listener: WakeListener): () => void {
    this.listeners.set(process, listener);
    const stops = this.nodes.map((node) => node.onWake(process, listener));
    return () => {
      if (this.listeners.get(process) === listener) this.listeners.delete(process);
      for (const stop of stops) stop();
    };
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.hints.close();
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
    const fences = granted(all).map(({ fence }) => fence);
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

  /** Nobody announces the end of a split: a waiter that finds no holder looks again soon, at random. */
  private async wait(name: string, { process }: Place, reply: BusyReply): Promise<BusyReply> {
    this.hints.wait(name, process);
    const { verdict } = await this.look(name);
    return verdict === null ? { ...reply, remainingMs: this.clock.jitterMs(BACK_OFF_MS) } : reply;
  }

  private async look(name: string) {
    const asked = this.nodes.map((node) => node.vote((store) => store.inspect(name)));
    const { answers } = await settled(asked, ({ pending }) => pending === 0 || undefined);
    return { verdict: heldByQuorum(valuesOf(answers.all), this.nodes.length), answers };
  }

  private announce(name: string): void {
    for (const node of this.nodes) node.announce(name);
  }

  /** `gaveBack`: nothing of the try is left on a node that has answered. */
  private unavailable(name: string, { all }: Answers<unknown>, why = TOO_FEW, gaveBack = false) {
    const message = nodeTroubles(this.nodes, all, why);
    return new LockUnavailableError(name, message, { mayHaveRun: !gaveBack });
  }
}

type Grant = Extract<AcquireReply, { status: 'granted' }>;

function granted({ all }: Answers<AcquireReply>): Grant[] {
  return valuesOf(all).filter((reply) => reply.status === 'granted');
}

/** As settleEarly, together with the answers that the verdict came from. */
function settled<T, V>(
  asked: readonly Promise<T>[],
  decide: (answers: Answers<T>) => V | undefined,
): Promise<{ verdict: V; answers: Answers<T> }> {
  return settleEarly(asked, (answers) => {
    const verdict = decide(answers);
    return verdict === undefined ? undefined : { verdict, answers };
  });
}
