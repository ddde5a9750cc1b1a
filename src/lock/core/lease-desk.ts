import type { Attempt } from './attempt.js';
import { type Clock, elapsedMs, type Instant, remainingMs } from './clock.js';
import type { FenceRule } from './fence-rule.js';
import { InFlightLimit, MAX_IN_FLIGHT } from './in-flight-limit.js';
import { HeldLease, type LeaseKeeper, type ReleaseOutcome } from './lease.js';
import type { LockEventBus } from './lock-events.js';
import { checkBounds, checkTtl, driftMarginMs, type LockOptions } from './lock-options.js';
import type { AcquireReply, GrantStore, ReleaseReply, StoreLives } from './lock-store.js';
import type { LossCode } from './lock.errors.js';
import { UndoQueue } from './undo-queue.js';
import { Watchdog } from './watchdog.js';
import { withDeadline } from './with-deadline.js';

type Granted = Extract<AcquireReply, { status: 'granted' }>;

/** Why nothing is granted after the shutdown has begun. */
export const CLOSING = 'this process is shutting down; ask another replica';
/** How long a shutdown lets go of leases at most, while their store answers. */
const MAX_RELEASING_MS = 10_000;
const LATE = 'the grant arrived with less than half of its TTL left and was given back';

/** Keeps all leases of one engine from grant to release. */
export class LeaseDesk implements LeaseKeeper {
  private readonly held = new Set<HeldLease>();
  private readonly background = new Set<Promise<void>>();
  private readonly observers = new Set<() => void>();
  private readonly watchdog: Watchdog;
  private readonly undos: UndoQueue;
  private readonly releases: InFlightLimit;
  /** Acquisitions under way, of which leases may yet come. */
  private asking = 0;
  private closing = false;
  private readonly stopListening: () => void;

  constructor(
    private readonly store: GrantStore,
    private readonly clock: Clock,
    private readonly events: LockEventBus,
    private readonly fences: FenceRule,
    private readonly lives: StoreLives,
    /** The work under a lease is over, after so many ms. */
    private readonly onClosed: (name: string, heldMs: number) => void,
  ) {
    this.watchdog = new Watchdog(store, clock, events);
    this.undos = new UndoQueue(clock, () => this.changed());
    this.releases = new InFlightLimit(clock, MAX_IN_FLIGHT);
    this.stopListening = store.onReconnect(() => this.watchdog.renewAll());
  }

  /**
   * Turns a grant into a lease under watch. Or says why whoever asked has to undo it: its reply took so long
   * that less than half of the TTL is left, its fence is too low for the data, or the engine is closing.
   */
  admit(
    attempt: Attempt,
    { fence: minted, permit, storeTimeMs }: Granted,
    sentAt: Instant,
    options: LockOptions,
  ): { readonly lease: HeldLease } | { readonly refused: string } {
    const { name, token, ttlMs } = attempt.terms;
    const left = ttlMs - driftMarginMs(ttlMs) - elapsedMs(sentAt, this.clock.now());
    const fence = this.fences.of(minted);
    if (this.closing) return { refused: CLOSING };
    const refused = left < ttlMs / 2 ? LATE : this.fences.objection(fence);
    if (refused !== undefined) return { refused };
    attempt.handOver();
    const { maxHoldMs, commandTimeoutMs } = options;
    const lease = new HeldLease(
      { name, token, fence, permit, storeTimeMs, ttlMs, maxHoldMs, commandTimeoutMs, sentAt },
      attempt,
      this.clock,
      this,
    );
    this.held.add(lease);
    this.watchdog.watch(lease);
    return { lease };
  }

  /** An acquisition begins; `askEnds` must follow. A shutdown waits for it, within bounds. */
  askBegins(): void {
    this.asking += 1;
  }

  askEnds(): void {
    this.asking -= 1;
    if (this.asking === 0) this.changed();
  }

  /** Undoes in the background what an abandoned attempt may leave behind. */
  undo(attempt: Attempt, until = attempt.endOfLastSend): void {
    if (until) this.undos.add(attempt, until.monoMs);
  }

  /** Work that a shutdown waits for, within bounds. It must not reject. */
  inBackground(work: Promise<void>): void {
    const task = work.finally(() => {
      this.background.delete(task);
      this.changed();
    });
    this.background.add(task);
  }

  async extend(lease: HeldLease, ttlMs: number): Promise<boolean> {
    checkBounds('ttlMs', ttlMs);
    checkTtl(ttlMs, this.lives);
    lease.assertHeld();
    lease.ttlMs = ttlMs;
    const outcome = await this.watchdog.renewNow(lease);
    lease.assertHeld();
    return outcome === 'renewed';
  }

  release(lease: HeldLease): Promise<ReleaseOutcome> {
    if (lease.outcome) return Promise.resolve(lease.outcome);
    lease.releasing ??= this.releaseOnce(lease);
    return lease.releasing;
  }

  /**
   * An administrator has taken the lock from the token. The message may be late and mean an earlier lease; where
   * it names none, the next renewals come now and show it.
   */
  revoked(name: string, token?: string): void {
    for (const lease of [...this.held].filter((one) => one.name === name)) {
      if (token === undefined) void this.watchdog.renewNow(lease);
      else if (lease.token === token) lease.lose('REVOKED');
    }
  }

  onLost(lease: HeldLease, reason: LossCode): void {
    this.forget(lease);
    this.events.emit('lost', { name: lease.name, fence: lease.fence, reason });
  }

  /**
   * Grants nothing from now on. Waits up to `graceMs` for holders and those who ask, aborts the rest and waits
   * `abortMs` more, then releases.
   */
  async drain(graceMs: number, abortMs: number): Promise<void> {
    this.closing = true;
    await this.until(() => this.held.size === 0 && this.asking === 0, graceMs);
    const rest = [...this.held];
    for (const lease of rest) lease.lose('SHUTDOWN');
    let ended = 0;
    await this.until(() => {
      while (rest[ended]?.isOpen === false) ended += 1;
      return ended === rest.length;
    }, abortMs);
    await this.releaseAll(rest, abortMs);
    this.undos.hurry();
    await this.until(
      () => this.background.size === 0 && this.undos.isQuiet && this.asking === 0,
      abortMs,
    );
    this.watchdog.rest();
  }

  close(): void {
    this.stopListening();
  }

  /** A store that has not answered for `patienceMs` is not asked any more: what it keeps runs out by itself. */
  private async releaseAll(leases: readonly HeldLease[], patienceMs: number): Promise<void> {
    const startedAt = this.clock.now().monoMs;
    let answeredAt = startedAt;
    const rest = leases.values();
    const releaseSome = async () => {
      for (const lease of rest) {
        const outcome = await this.release(lease);
        const { monoMs } = this.clock.now();
        if (outcome !== 'unknown') answeredAt = monoMs;
        if (monoMs - answeredAt >= patienceMs || monoMs - startedAt >= MAX_RELEASING_MS) return;
      }
    };
    await Promise.all(Array.from({ length: MAX_IN_FLIGHT }, releaseSome));
  }

  private async releaseOnce(lease: HeldLease): Promise<ReleaseOutcome> {
    const isFirst = lease.isOpen;
    if (isFirst) {
      const heldMs = lease.close();
      this.forget(lease);
      this.onClosed(lease.name, heldMs);
    }
    const outcome = await this.deleteKey(lease, isFirst);
    lease.releasing = undefined;
    if (isFirst && this.events.isHeard('released')) {
      const heldMs = elapsedMs(lease.grantedAt, this.clock.now());
      this.events.emit('released', { name: lease.name, fence: lease.fence, heldMs, outcome });
    }
    return outcome;
  }

  private async deleteKey(lease: HeldLease, isFirst: boolean): Promise<ReleaseOutcome> {
    if (lease.loss?.reason === 'NOT_OWNER') {
      this.undoLate(lease.attempt);
      return (lease.outcome = 'not-held');
    }
    try {
      const reply = await this.askToRelease(lease);
      // An earlier release whose reply was lost explains why nothing is there any more.
      lease.outcome = reply === 'not-held' && !isFirst ? 'released' : reply;
    } catch {
      if (isFirst) {
        lease.attempt.takeBack();
        this.undo(lease.attempt, lease.endOfKey);
      }
      return 'unknown';
    }
    const isMissed = lease.outcome === 'not-held' && !lease.loss;
    if (isMissed && remainingMs(lease.deadline, this.clock.now()) > 0) lease.foundGone();
    this.undoLate(lease.attempt);
    return lease.outcome;
  }

  private async askToRelease({
    name,
    token,
    attempt,
    commandTimeoutMs,
  }: HeldLease): Promise<ReleaseReply> {
    const room = this.releases.enter(commandTimeoutMs);
    if (room) await room;
    try {
      const released = this.store.release(name, token, attempt.terms.process);
      return await withDeadline(released, this.clock, commandTimeoutMs);
    } finally {
      this.releases.leave();
    }
  }

  /** A command of a lease's token may still be under way from the time of the grant. */
  private undoLate(attempt: Attempt): void {
    if (attempt.mayLeaveSomething) this.undo(attempt);
  }

  private forget(lease: HeldLease): void {
    this.held.delete(lease);
    this.watchdog.unwatch(lease);
    this.changed();
  }

  private changed(): void {
    for (const observer of this.observers) observer();
  }

  /** Resolves as soon as `condition` holds, or after `timeoutMs`. */
  private until(condition: () => boolean, timeoutMs: number): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        cancel();
        this.observers.delete(observer);
        resolve();
      };
      const observer = () => {
        if (condition()) finish();
      };
      const cancel = this.clock.setTimer(finish, timeoutMs, true);
      this.observers.add(observer);
    });
  }
}
