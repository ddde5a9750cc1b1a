import { type CancelTimer, type Clock, elapsedMs, remainingMs } from './clock.js';
import { DueTimes, roundedDown } from './due-times.js';
import type { HeldLease } from './lease.js';
import type { LockEventBus } from './lock-events.js';
import type { GrantStore, RenewOutcome } from './lock-store.js';
import { withDeadline } from './with-deadline.js';

/** Locks renewed by one command: large enough to spare round trips, small enough not to stall a server. */
const BATCH_SIZE = 100;

/** A renewal without a verdict is tried again after this part of the TTL. */
const RETRY_PART = 1 / 20;

/** Renewals are brought forward by up to this part of the TTL, so that leases of different age share a batch. */
const GRID_PART = 1 / 30;

/** A lease is sorted in after this part of its TTL; most are released before, and cost next to nothing. */
const FRESH_PART = 1 / 6;

/**
 * Renews all leases of one engine at a third of their TTL, and ends each at its local deadline even
 * if the store never answers. One timer, however many leases; when the last is released it goes off
 * once for nothing, at most a third of a TTL later, and is not set again.
 */
export class Watchdog {
  private readonly fresh = new Set<HeldLease>();
  private readonly due = new DueTimes<HeldLease>();
  private readonly inFlight = new Set<HeldLease>();
  private cancelTimer: CancelTimer | undefined;
  private timerAtMs = Infinity;

  constructor(
    private readonly store: GrantStore,
    private readonly clock: Clock,
    private readonly events: LockEventBus,
  ) {}

  /** Number of leases under watch. */
  get size(): number {
    return this.fresh.size + this.due.size;
  }

  watch(lease: HeldLease): void {
    this.fresh.add(lease);
    const { grantedAt, deadline, ttlMs } = lease;
    this.armAt(Math.min(grantedAt.monoMs + ttlMs * FRESH_PART, deadline.monoMs));
  }

  /** From here on nothing renews the lease, and replies still under way are ignored. */
  unwatch(lease: HeldLease): void {
    if (!this.fresh.delete(lease)) this.due.delete(lease);
  }

  /** Ends the timer where nothing is left to watch. */
  rest(): void {
    if (this.size > 0) return;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.timerAtMs = Infinity;
  }

  /** Renews everything now: after a reconnection or a change of role the store may know less than we do. */
  renewAll(): void {
    this.sortIn();
    this.handle([...this.due.items()]);
  }

  /** Renews one lease now. */
  async renewNow(lease: HeldLease): Promise<RenewOutcome> {
    if (lease.renewalTtlMs() === undefined) return 'renewed'; // it lives to its maximum already
    const [outcome = 'unknown'] = await this.renew([lease], renewalTimeoutMs(lease));
    this.arm();
    return outcome;
  }

  private handle(leases: readonly HeldLease[]): void {
    const batches = new Map<number, HeldLease[]>();
    for (const lease of leases) {
      if (lease.isOverdue() && this.inFlight.has(lease)) {
        this.clock.afterInput(() => lease.checkDeadline());
      } else if (lease.checkDeadline()) {
        this.due.delete(lease);
      } else if (this.inFlight.has(lease) || lease.renewalTtlMs() === undefined) {
        this.schedule(lease, Infinity);
      } else {
        const timeoutMs = renewalTimeoutMs(lease);
        const batch = batches.get(timeoutMs);
        if (batch) batch.push(lease);
        else batches.set(timeoutMs, [lease]);
      }
    }
    for (const [timeoutMs, batch] of batches) {
      for (let at = 0; at < batch.length; at += BATCH_SIZE) {
        void this.renew(batch.slice(at, at + BATCH_SIZE), timeoutMs).then(() => this.arm());
      }
    }
    this.arm();
  }

  private async renew(
    batch: readonly HeldLease[],
    timeoutMs: number,
  ): Promise<readonly RenewOutcome[]> {
    const sentAt = this.clock.now();
    const renewals = batch.map((lease) => ({
      name: lease.name,
      token: lease.token,
      ttlMs: lease.renewalTtlMs() ?? lease.ttlMs,
    }));
    for (const [index, lease] of batch.entries()) {
      lease.renewalSent(sentAt, renewals[index]?.ttlMs ?? 0);
      this.inFlight.add(lease);
      this.schedule(lease, Infinity);
    }
    const asked = (async () => this.store.renew(renewals))(); // also of a store that throws at once
    const outcomes = await withDeadline(asked, this.clock, timeoutMs, { background: true }).catch(
      () => batch.map((): RenewOutcome => 'unknown'),
    );
    batch.forEach((lease, index) => {
      this.inFlight.delete(lease);
      if (!lease.isHeld) return; // released or ended meanwhile: this reply is about the past
      const outcome = outcomes[index] ?? 'unknown';
      if (outcome === 'renewed') {
        lease.renewed(sentAt, renewals[index]?.ttlMs ?? 0);
        this.scheduleRenewal(lease, this.clock.now().monoMs);
      } else if (outcome === 'not-owner' || outcome === 'revoked') {
        lease.lose(outcome === 'revoked' ? 'REVOKED' : 'NOT_OWNER');
        this.due.delete(lease);
      } else {
        this.events.emit('renewal-unknown', { name: lease.name, fence: lease.fence });
        this.schedule(lease, lease.ttlMs * RETRY_PART);
      }
    });
    return outcomes;
  }

  /** Next look at the lease: after `delayMs`, but no later than its deadline. */
  private schedule(lease: HeldLease, delayMs: number): void {
    this.fresh.delete(lease);
    const now = this.clock.now();
    const untilDeadline = remainingMs(lease.deadline, now);
    this.due.set(lease, now.monoMs + Math.min(delayMs, untilDeadline));
  }

  /** A renewal is due a third of the TTL after `sinceMs`, where there is anything to ask for. */
  private scheduleRenewal(lease: HeldLease, sinceMs: number): void {
    if (lease.renewalTtlMs() === undefined) return this.schedule(lease, Infinity);
    const { ttlMs } = lease;
    const dueMs = roundedDown(sinceMs + ttlMs / 3, ttlMs * GRID_PART);
    this.schedule(lease, Math.max(0, dueMs - this.clock.now().monoMs));
  }

  /** Gives the fresh leases their times. */
  private sortIn(): void {
    const now = this.clock.now();
    for (const lease of this.fresh) {
      this.scheduleRenewal(lease, now.monoMs - elapsedMs(lease.grantedAt, now));
    }
  }

  private arm(): void {
    this.armAt(this.due.earliest() ?? Infinity);
  }

  /** Only ever moves the timer nearer: one that goes off too early costs less than setting it again. */
  private armAt(dueMs: number): void {
    if (dueMs >= this.timerAtMs) return;
    this.cancelTimer?.();
    this.timerAtMs = dueMs;
    this.cancelTimer = this.clock.setTimer(() => {
      this.timerAtMs = Infinity;
      this.cancelTimer = undefined;
      this.sortIn();
      this.handle(this.due.take(this.clock.now().monoMs));
    }, dueMs - this.clock.now().monoMs);
  }
}

/**
 * Half of the time that is left, so that several tries without an answer fit before the deadline;
 * rounded down to a power of two, so that leases in the same trouble still share a batch.
 */
function renewalTimeoutMs(lease: HeldLease): number {
  const half = 2 ** Math.floor(Math.log2(Math.max(lease.remainingMs / 2, 1)));
  return Math.min(lease.commandTimeoutMs, half);
}
