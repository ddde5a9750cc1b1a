import { type Clock, elapsedMs, type Instant } from '../../core/clock.js';
import { PLACE_DEAD_MS, type Place, TURN_MS, type WakeListener } from '../../core/lock-store.js';
import { type EtcdConnection, wasRefused } from './etcd-connection.js';
import { type EtcdKeys, leaseIdOf } from './etcd-keys.js';
import type { EtcdLeases } from './etcd-leases.js';
import { type Look, lookAt, lookOf, type StandingPlace } from './etcd-look.js';
import type { RequestOp } from './etcd-messages.js';
import type { EtcdWatches } from './etcd-watches.js';

/** A place's lease is renewed by a look when it is older than that: by every second one of a waiter that nothing wakes. */
const REFRESH_MS = PLACE_DEAD_MS / 2;

/** A place of this store's own processes. */
interface OwnPlace {
  refreshedAt: Instant;
  /** What is watched for it, as one text, and what ends that. */
  watching: string;
  stop: () => void;
  /** The lock was let go while it stood at the head. */
  isTurn: boolean;
}

/**
 * The line for each lock: a key per waiting process, `{<prefix><name>}:line/<process>`, under a lease of
 * PLACE_DEAD_MS that looks keep alive. Each place watches the one before it, the head the lock; the one
 * behind the head looks after the lock too, should the head miss its turn.
 */
export class EtcdLine {
  private readonly own = new Map<string, OwnPlace>();
  private readonly listeners = new Map<string, WakeListener>();
  /** Which head was seen not to take a free lock, and since when. */
  private readonly idle = new Map<string, { readonly head: string; readonly since: Instant }>();

  constructor(
    private readonly connection: EtcdConnection,
    private readonly keys: EtcdKeys,
    private readonly leases: EtcdLeases,
    private readonly watches: EtcdWatches,
    private readonly clock: Clock,
  ) {}

  /** Passes on whose turn it is, and what was revoked. One watch per process, and two at most per place. */
  listen(process: string, listener: WakeListener): () => void {
    this.listeners.set(process, listener);
    const stop = this.watches.add({
      key: this.keys.mailbox(process),
      events: 'puts',
      onEvent: ({ value }) => {
        const [name, token] = value.toString().split(' ');
        listener(name, 'revoked', token);
      },
      onGap: () => listener(undefined, 'turn'),
    });
    return () => {
      this.listeners.delete(process);
      stop();
    };
  }

  /** Takes the process's place, or refreshes it, and looks. One round trip; two where the lease needs it. */
  async stand(name: string, { process, ticket = '' }: Place): Promise<Look> {
    const key = this.keys.place(name, process);
    await this.refresh(name, process, ticket !== '');
    const look = lookAt(this.keys, name);
    const put: RequestOp = { put: { key, value: Buffer.from(ticket), lease: leaseIdOf(key) } };
    const request = {
      compare: [{ key, target: 'CREATE', createRevision: '0' }],
      success: [put, ...look],
      failure: look,
    } as const;
    try {
      return lookOf(await this.connection.call('KV/Txn', request, name));
    } catch (error) {
      // The lease ended meanwhile: the next look makes a new one.
      if (wasRefused(error, 'lease not found')) this.drop(name, process);
      throw error;
    }
  }

  /** The process is the head, and the lock was let go since it looked last: it need not look again. Says so once. */
  takeTurn(name: string, process: string): boolean {
    const place = this.own.get(idOf(name, process));
    const isTurn = place?.isTurn ?? false;
    if (place) place.isTurn = false;
    return isTurn;
  }

  /** How long the head may still take the free lock, in ms, by this process's clock; 0 once it has missed its turn. */
  turnMs(name: string, { kv }: StandingPlace): number {
    const now = this.clock.now();
    const head = kv.key.toString() + kv.createRevision;
    const seen = this.idle.get(name);
    if (seen?.head === head) return Math.max(0, Math.ceil(TURN_MS - elapsedMs(seen.since, now)));
    this.idle.delete(name);
    this.idle.set(name, { head, since: now });
    const oldest = this.idle.keys().next().value;
    if (this.idle.size > 1_000 && oldest !== undefined) this.idle.delete(oldest);
    return TURN_MS;
  }

  /** Somebody holds the lock: nobody misses a turn. */
  seenHeld(name: string): void {
    this.idle.delete(name);
  }

  /** Tells the process's listener as soon as it is worth another look. */
  watch(name: string, process: string, look: Look): void {
    const place = this.own.get(idOf(name, process));
    const listener = this.listeners.get(process);
    const position = look.line.findIndex((one) => one.process === process);
    if (!place || !listener || position < 0) return;
    const before = look.line[position - 1];
    const watching = before ? `${position === 1} ${before.kv.key.toString()}` : 'lock';
    if (watching === place.watching) return;
    place.stop();
    const fromRevision = look.revision + 1n;
    const wake = () => listener(name, 'turn');
    const stops: (() => void)[] = [];
    if (before) {
      const { key } = before.kv;
      stops.push(
        this.watches.add({ key, events: 'deletes', fromRevision, onEvent: wake, onGap: wake }),
      );
    }
    if (position <= 1) {
      const onEvent = () => {
        if (position === 0) place.isTurn = true;
        listener(name, position === 0 ? 'turn' : 'standby');
      };
      const range = this.keys.locks(name);
      stops.push(
        this.watches.add({ ...range, events: 'deletes', fromRevision, onEvent, onGap: wake }),
      );
    }
    place.watching = watching;
    place.stop = () => stops.forEach((stop) => stop());
  }

  /** Gives the place up. One round trip. */
  async leave(name: string, process: string): Promise<void> {
    this.drop(name, process);
    await this.leases.revoke(leaseIdOf(this.keys.place(name, process)), name);
  }

  /** The place was used up by a grant, its key is deleted. */
  served(name: string, process: string): void {
    if (!this.drop(name, process)) return;
    this.leases.revokeInBackground(leaseIdOf(this.keys.place(name, process)));
  }

  private async refresh(name: string, process: string, stood: boolean): Promise<void> {
    const now = this.clock.now();
    const place = this.own.get(idOf(name, process));
    if (place && elapsedMs(place.refreshedAt, now) < REFRESH_MS) return;
    const lease = leaseIdOf(this.keys.place(name, process));
    const [lifeMs] = stood ? await this.leases.keepAlive([lease]) : [0];
    if (!lifeMs) await this.leases.ensure(lease, PLACE_DEAD_MS, name);
    if (place) place.refreshedAt = now;
    else {
      const fresh = { refreshedAt: now, watching: '', stop: () => undefined, isTurn: false };
      this.own.set(idOf(name, process), fresh);
    }
  }

  private drop(name: string, process: string): boolean {
    this.own.get(idOf(name, process))?.stop();
    return this.own.delete(idOf(name, process));
  }
}

function idOf(name: string, process: string): string {
  return `${process} ${name}`;
}
