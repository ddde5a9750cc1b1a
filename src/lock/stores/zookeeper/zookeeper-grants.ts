import {
  type CancelTimer,
  type Clock,
  type Instant,
  plusMs,
  remainingMs,
} from '../../core/clock.js';
import type {
  AcquireReply,
  BusyReply,
  Place,
  Renewal,
  RenewOutcome,
} from '../../core/lock-store.js';
import { LockUnavailableError } from '../../core/lock.errors.js';
import type { ZookeeperLine } from './zookeeper-line.js';
import {
  type HeldNode,
  type Look,
  readData,
  writeData,
  type ZookeeperNodes,
} from './zookeeper-nodes.js';
import type { ZookeeperSession } from './zookeeper-session.js';
import { ZookeeperStrays } from './zookeeper-strays.js';

const RETRY_MS = 1_000;

type Grant = Extract<AcquireReply, { status: 'granted' }>;

/** Who asks for what. */
interface Ask {
  readonly name: string;
  readonly token: string;
  readonly ttlMs: number;
  readonly place: Place | undefined;
}

/** A lock of this process. */
interface Own {
  readonly name: string;
  readonly token: string;
  readonly path: string;
  readonly generation: number;
  /** If it is not renewed until then, the node is deleted: its session would keep it for ever. */
  until: Instant;
  cancelCheck: CancelTimer | undefined;
  /** It is being let go: that its node goes is no loss. */
  isLeaving: boolean;
}

/** The locks of this process: taking them, and what keeps them from living for ever. */
export class ZookeeperGrants {
  private readonly own = new Map<string, Own>();
  private readonly strays: ZookeeperStrays;

  constructor(
    private readonly session: ZookeeperSession,
    private readonly nodes: ZookeeperNodes,
    private readonly line: ZookeeperLine,
    private readonly clock: Clock,
    /** How long a lock lives at least after the last answer to its process, in ms. */
    private readonly lifeMs: () => number,
    /** A node of this process went, or its session did: the engine has to look at its leases. */
    private readonly onLoss: () => void,
  ) {
    this.strays = new ZookeeperStrays(session, nodes, line, clock);
  }

  /**
   * A free lock that nobody waits for: three round trips, two of them reads at the connected server.
   * Busy: one, and one for the holder's data.
   * @throws LockUnavailableError
   */
  async tryAcquire(ask: Ask): Promise<AcquireReply> {
    try {
      return await this.try(ask);
    } catch (error) {
      this.strays.sweepAfter(ask.name, ask.token, ask.ttlMs);
      throw error;
    }
  }

  private async try(ask: Ask): Promise<AcquireReply> {
    const { name, token, ttlMs, place } = ask;
    this.assertLife(name, ttlMs);
    let look = await this.line.look(name);
    let isFresh = false;
    for (;;) {
      const [holder] = look.held;
      // Of an earlier try that had no answer: it must not come to hold the lock unnoticed.
      const strays = look.held.slice(1).filter((one) => one.token === token);
      await Promise.all(strays.map(({ path }) => this.session.remove(path, name)));
      const grant = holder?.token === token && (await this.admit(ask, holder, look, isFresh));
      if (grant) return grant;
      const [head] = look.line;
      if (holder) {
        return this.busy(ask, place ? await this.line.stand(name, place, look) : look);
      } else if (!head || head.process === place?.process) {
        look = await this.take(ask);
        isFresh = true;
      } else {
        if (place) look = await this.line.stand(name, place, look);
        const turnMs = this.line.turnMs(name, head);
        if (turnMs > 0) return this.busy(ask, look, turnMs);
        await this.session.remove(head.path, name); // it has missed its turn
        look = await this.line.look(name);
      }
    }
  }

  /** One write through the leader, by which the session is heard, and a look at each node. Never rejects. */
  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const sentAt = this.clock.now();
    const heard = this.session.hear(this.nodes.root).catch(() => false);
    const outcomes = renewals.map(async ({ name, token, ttlMs }): Promise<RenewOutcome> => {
      const own = this.own.get(idOf(name, token));
      if (own?.generation !== this.session.generation) return 'not-owner';
      const node = await this.session.read(own.path, name);
      if (!node) return 'not-owner';
      if (readData(node.data).revoked) return 'revoked';
      this.assertLife(name, ttlMs);
      if (!(await heard)) return 'unknown';
      this.keepUntil(own, plusMs(sentAt, ttlMs));
      return 'renewed';
    });
    return Promise.all(outcomes.map((one) => one.catch((): RenewOutcome => 'unknown')));
  }

  /** Deletes the token's nodes, known or not: one whose creation had no answer is found by its name. */
  async release(name: string, token: string): Promise<boolean> {
    const own = this.own.get(idOf(name, token));
    if (own) own.isLeaving = true;
    const paths =
      own?.generation === this.session.generation
        ? [own.path]
        : (await this.line.look(name)).held
            .filter((one) => one.token === token)
            .map(({ path }) => path);
    const removed = await Promise.all(paths.map((path) => this.session.remove(path, name))).catch(
      (error: unknown) => {
        if (own) this.tryLater(own); // whoever releases may give up before it has an answer
        throw error;
      },
    );
    own?.cancelCheck?.();
    this.own.delete(idOf(name, token));
    // Nothing stays of a lock that nobody wants; whoever comes meanwhile keeps it, or makes it anew.
    this.session.remove(this.nodes.lock(name), name).catch(() => undefined);
    return removed.includes(true);
  }

  /** All nodes of the old session are gone. */
  expired(): void {
    for (const [id, { generation, cancelCheck }] of this.own) {
      if (generation === this.session.generation) continue;
      cancelCheck?.();
      this.own.delete(id);
    }
    this.onLoss();
  }

  private assertLife(name: string, ttlMs: number): void {
    const lifeMs = this.lifeMs();
    if (ttlMs <= lifeMs) return;
    throw new LockUnavailableError(
      name,
      `ttlMs is ${ttlMs}, but the ZooKeeper session, which locks live as long as, lasts for ${lifeMs} ms only. Raise the store's ttlMs (and the servers' maxSessionTimeout), or lower this one`,
      { mayHaveRun: false },
    );
  }

  /** Makes a node of the token's own and looks: the first one holds the lock. One that is not is deleted. */
  private async take({ name, token }: Ask): Promise<Look> {
    const path = this.nodes.held(name, token);
    const data = writeData(this.clock.now().wallMs, this.lifeMs());
    this.strays.expect(token);
    let made = await this.session.create(path, data, name);
    if (made === undefined) {
      await this.session.makeParent(this.nodes.lock(name), name);
      made = await this.session.create(path, data, name);
    }
    const look = await this.line.look(name);
    if (made !== undefined && look.held[0]?.token !== token) {
      await this.session.remove(made, name);
      this.strays.settled(token);
      return this.line.look(name);
    }
    return look;
  }

  /** The token's node is the first one. Null where it was revoked. */
  private async admit(
    { name, token, ttlMs, place }: Ask,
    { path }: HeldNode,
    look: Look,
    isFresh: boolean,
  ): Promise<Grant | null> {
    const known = this.own.get(idOf(name, token));
    const now = this.clock.now();
    const { generation } = this.session;
    const own = known ?? {
      name,
      token,
      path,
      generation,
      until: now,
      cancelCheck: undefined,
      isLeaving: false,
    };
    const node = await this.session.read(path, name, known ? undefined : this.watcherOf(own));
    if (!node) throw new LockUnavailableError(name, 'ZooKeeper: its node has gone meanwhile');
    if (readData(node.data).revoked) return null;
    // It was made by an earlier try: the session has to be heard by this one.
    if (!isFresh) await this.session.hear(this.nodes.root, name);
    this.own.set(idOf(name, token), own);
    this.strays.settled(token);
    this.keepUntil(own, plusMs(now, ttlMs));
    if (place) await this.line.leave(name, place.process, look);
    const storeTimeMs = Math.floor(this.clock.now().wallMs);
    return { status: 'granted', fence: node.czxid, storeTimeMs };
  }

  /** Told when the node is revoked or deleted: its holder learns it at once. */
  private watcherOf(own: Own): (event: { readonly isGone: boolean }) => void {
    const onChange = ({ isGone }: { readonly isGone: boolean }) => {
      const id = idOf(own.name, own.token);
      if (this.own.get(id) !== own || own.isLeaving) return;
      if (isGone) {
        own.cancelCheck?.();
        this.own.delete(id);
        this.onLoss();
      } else {
        this.line.tell(own.name, 'revoked', own.token);
        this.session.read(own.path, own.name, onChange).catch(() => undefined); // renewals look too
      }
    };
    return onChange;
  }

  private keepUntil(own: Own, until: Instant): void {
    const now = this.clock.now();
    if (remainingMs(until, now) > remainingMs(own.until, now)) own.until = until;
    if (!own.cancelCheck) this.checkAfter(own, remainingMs(own.until, now));
  }

  /** A lease that ended without a release (MAX_HOLD, a lost reply, an engine that is gone): its node must go too. */
  private checkAfter(own: Own, ms: number): void {
    own.cancelCheck = this.clock.setTimer(() => {
      if (this.own.get(idOf(own.name, own.token)) !== own || own.isLeaving) return;
      const leftMs = remainingMs(own.until, this.clock.now());
      if (leftMs > 0) return this.checkAfter(own, leftMs);
      this.release(own.name, own.token).catch(() => undefined); // it has noted that already
    }, ms);
  }

  private tryLater(own: Own): void {
    own.cancelCheck?.();
    own.isLeaving = false;
    if (this.session.isClosed) return;
    this.checkAfter(own, Math.max(RETRY_MS, remainingMs(own.until, this.clock.now())));
  }

  private async busy({ name, place }: Ask, look: Look, turnMs?: number): Promise<BusyReply> {
    const [holder] = look.held;
    if (holder) this.line.seenHeld(name);
    if (place) await this.line.watch(name, place.process, look);
    const node =
      holder && place?.ticket === undefined
        ? await this.session.read(holder.path, name)
        : undefined;
    const data = readData(node?.data);
    const own = look.line.find(({ process }) => process === place?.process);
    return {
      status: 'busy',
      remainingMs: holder ? data.lifeMs : turnMs,
      heldForMs: heldForMs(data.sinceMs, this.clock),
      queued: look.line.length,
      ticket: own && String(own.ticket),
    };
  }
}

/** By the wall clocks of the two processes: ZooKeeper's own is not told. */
export function heldForMs(sinceMs: number | undefined, clock: Clock): number | undefined {
  return sinceMs === undefined ? undefined : Math.max(0, clock.now().wallMs - sinceMs);
}

function idOf(name: string, token: string): string {
  return `${token} ${name}`;
}
