import type { Clock } from '../../core/clock.js';
import type { AcquireReply, BusyReply, Place } from '../../core/lock-store.js';
import { LockUnavailableError } from '../../core/lock.errors.js';
import type { EtcdConnection } from './etcd-connection.js';
import { type EtcdKeys, leaseIdOf } from './etcd-keys.js';
import type { EtcdLeases } from './etcd-leases.js';
import type { EtcdLine } from './etcd-line.js';
import {
  type Look,
  lookAt,
  lookOf,
  type StandingPlace,
  storedKey,
  type StoredKey,
  valueOf,
} from './etcd-look.js';
import type { Compare, KeyRange } from './etcd-messages.js';
import type { EtcdRenewals } from './etcd-renewals.js';

type Grant = Extract<AcquireReply, { status: 'granted' }>;

/** Who asks for what. */
interface Ask {
  readonly name: string;
  readonly token: string;
  readonly ttlMs: number;
  readonly place: Place | undefined;
}

/** Takes locks: by a transaction that finds no holder, and nobody who came before. */
export class EtcdGrants {
  constructor(
    private readonly connection: EtcdConnection,
    private readonly keys: EtcdKeys,
    private readonly leases: EtcdLeases,
    private readonly line: EtcdLine,
    private readonly renewals: EtcdRenewals,
    private readonly clock: Clock,
  ) {}

  /**
   * A free lock that nobody waits for: two round trips, and so for a head whose turn has come. Busy: one
   * more, and the lease that was made for nothing is revoked in the background.
   * @throws LockUnavailableError
   */
  async tryAcquire(ask: Ask): Promise<AcquireReply> {
    const reply = await this.ask(ask);
    return 'status' in reply ? reply : this.busy(ask, reply.look, reply.turnMs);
  }

  private async ask(ask: Ask): Promise<Grant | { look: Look; turnMs?: number }> {
    const { name, token, place } = ask;
    const stood = place?.ticket !== undefined;
    let look: Look;
    if (stood && !this.line.takeTurn(name, place.process)) {
      look = await this.line.stand(name, place);
    } else {
      const taken = await this.take(ask, stood);
      if ('status' in taken) return taken;
      const isMine = taken.holder?.token === token;
      look = place && !isMine ? await this.line.stand(name, place) : taken;
    }
    for (;;) {
      const { holder } = look;
      if (holder?.token === token && !holder.revoked) return this.keep(ask, holder);
      if (holder) return { look };
      const [head] = look.line;
      if (!head || head.process === place?.process) {
        const taken = await this.take(ask, head !== undefined);
        if ('status' in taken) return taken;
        look = taken;
      } else {
        const turnMs = this.line.turnMs(name, head);
        if (turnMs > 0) return { look, turnMs };
        look = await this.passOver(name, head);
      }
    }
  }

  /** The transaction: as the head of the line, or where there is none. What is in the way, where something is. */
  private async take(ask: Ask, isHead: boolean): Promise<Grant | Look> {
    const { name, token, ttlMs, place } = ask;
    const lease = leaseIdOf(token);
    const lifeMs = await this.leases.ensure(lease, ttlMs, name);
    const locks = isEmpty(this.keys.locks(name));
    const own = {
      key: this.keys.lock(name, token),
      value: valueOf(this.clock.now().wallMs, lifeMs),
      lease,
    };
    const put = { put: own };
    const leaveLine = place && { deleteRange: { key: this.keys.place(name, place.process) } };
    const request = {
      compare: isHead ? [locks] : [locks, isEmpty(this.keys.line(name))],
      success: leaveLine ? [put, leaveLine] : [put],
      failure: lookAt(this.keys, name),
    };
    const reply = await this.connection.call('KV/Txn', request, name);
    if (!reply.succeeded) {
      const look = lookOf(reply);
      if (look.holder?.token !== token) this.leases.revokeInBackground(lease);
      return look;
    }
    const { revision } = reply.header;
    if (lifeMs < ttlMs) {
      return this.keep(ask, storedKey({ ...own, createRevision: revision, modRevision: revision }));
    }
    if (place) this.line.served(name, place.process);
    return this.grant(BigInt(revision));
  }

  /** The token holds the lock already: the reply to an earlier try was lost. It gets the full life again. */
  private async keep({ name, token, ttlMs, place }: Ask, holder: StoredKey): Promise<Grant> {
    const outcome = await this.renewals.prolong(name, holder, ttlMs);
    if (outcome !== 'renewed') {
      throw new LockUnavailableError(name, `etcd: the lease of an earlier try is "${outcome}"`);
    }
    if (holder.kv.lease !== leaseIdOf(token)) this.leases.revokeInBackground(leaseIdOf(token));
    if (place) this.line.served(name, place.process);
    return this.grant(holder.fence);
  }

  /** The head has missed its turn: it loses its place, unless it takes the lock at this very moment. */
  private async passOver(name: string, { kv }: StandingPlace): Promise<Look> {
    const { key, createRevision } = kv;
    const look = lookAt(this.keys, name);
    const reply = await this.connection.call(
      'KV/Txn',
      {
        compare: [isEmpty(this.keys.locks(name)), { key, target: 'CREATE', createRevision }],
        success: [{ deleteRange: { key } }, ...look],
        failure: look,
      },
      name,
    );
    return lookOf(reply);
  }

  private async busy({ name, place }: Ask, look: Look, turnMs?: number): Promise<BusyReply> {
    const { holder, line } = look;
    if (holder) this.line.seenHeld(name);
    if (place) this.line.watch(name, place.process, look);
    // A waiter that asks again is woken by what it watches, and need not know when the lease ends.
    const isCurious = holder !== undefined && place?.ticket === undefined;
    const remainingMs = isCurious ? await this.leases.remainingMs(holder.kv.lease) : turnMs;
    const own = line.find(({ process }) => process === place?.process);
    return {
      status: 'busy',
      remainingMs,
      heldForMs: heldForMs(holder, this.clock),
      queued: line.length,
      ticket: own && String(own.ticket),
    };
  }

  private grant(fence: bigint): Grant {
    return { status: 'granted', fence, storeTimeMs: Math.floor(this.clock.now().wallMs) };
  }
}

/** By the wall clocks of the two processes: etcd has no clock that it tells. */
export function heldForMs(stored: StoredKey | undefined, clock: Clock): number | undefined {
  const { wallMs } = clock.now();
  return stored?.sinceMs === undefined ? undefined : Math.max(0, wallMs - stored.sinceMs);
}

function isEmpty(range: KeyRange): Compare {
  return { ...range, target: 'CREATE', createRevision: '0' };
}
