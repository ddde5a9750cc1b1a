import type {
  AcquireReply,
  BusyReply,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
} from '../../../../src/lock/core/lock-store.js';
import { ModelStore } from '../store/model-store.js';

/** Stores with one mistake each, as real ones have had it. */
export const storeMutants: Readonly<Record<string, typeof ModelStore>> = {
  'a store that grants what is held': class extends ModelStore {
    protected override inTheWay(
      name: string,
      token: string,
      place: Place | undefined,
    ): BusyReply | undefined {
      const busy = super.inTheWay(name, token, place);
      return busy && (busy.heldForMs ?? 0) > 1_000 ? undefined : busy;
    }
  },

  'a release that does not compare tokens': class extends ModelStore {
    override async release(name: string, token: string, process: string): Promise<ReleaseReply> {
      return super.release(name, this.alive(name)?.token ?? token, process);
    }
  },

  'a renewal that does not compare tokens': class extends ModelStore {
    protected override renewOne(renewal: Renewal): RenewOutcome {
      const token = this.alive(renewal.name)?.token;
      return token === undefined ? 'not-owner' : super.renewOne({ ...renewal, token });
    }
  },

  'a renewal that says yes to a key that is gone': class extends ModelStore {
    protected override renewOne(renewal: Renewal): RenewOutcome {
      return this.alive(renewal.name) ? super.renewOne(renewal) : 'renewed';
    }
  },

  'a renewal that says yes and sets no time': class extends ModelStore {
    protected override renewOne(renewal: Renewal): RenewOutcome {
      return super.renewOne({ ...renewal, ttlMs: 0 });
    }
  },

  'a renewal that shortens lives': class extends ModelStore {
    protected override renewOne(renewal: Renewal): RenewOutcome {
      const outcome = super.renewOne(renewal);
      const lock = this.alive(renewal.name);
      if (lock && outcome === 'renewed') lock.expiresAt = this.now() + renewal.ttlMs;
      return outcome;
    }
  },

  'a repeated try that shortens lives': class extends ModelStore {
    override async tryAcquire(
      name: string,
      token: string,
      ttlMs: number,
      place?: Place,
    ): Promise<AcquireReply> {
      const reply = await super.tryAcquire(name, token, ttlMs, place);
      const lock = this.alive(name);
      if (lock?.token === token && !lock.revoked) lock.expiresAt = this.now() + ttlMs;
      return reply;
    }
  },

  'a fence that is the clock alone': class extends ModelStore {
    protected override mint(name: string): number {
      this.fences.delete(name);
      return super.mint(name);
    }
  },

  'a fence that stands still': class extends ModelStore {
    protected override mint(name: string): number {
      const last = this.fences.get(name);
      return last ?? super.mint(name);
    }
  },

  'a revocation that deletes': class extends ModelStore {
    override async revoke(name: string, token: string, process: string): Promise<boolean> {
      const done = await super.revoke(name, token, process);
      if (done) this.locks.delete(name);
      return done;
    }
  },

  'a turn that nobody is given': class extends ModelStore {
    protected override inTheWay(
      name: string,
      token: string,
      place: Place | undefined,
    ): BusyReply | undefined {
      const busy = super.inTheWay(name, token, place);
      const isWaitedFor = (this.lines.get(name)?.lengthAt(this.now()) ?? 0) > 0;
      if (busy || !isWaitedFor || this.alive(name)) return busy;
      return {
        status: 'busy',
        remainingMs: 300,
        heldForMs: undefined,
        queued: 1,
        ticket: undefined,
      };
    }
  },
};
