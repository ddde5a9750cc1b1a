import type { Attempt } from './attempt.js';
import { type Clock, elapsedMs, type Instant, plusMs, remainingMs } from './clock.js';
import { LockName } from './lock-name.js';
import { LockLostError, LockOptionsError, type LossCode } from './lock.errors.js';
import { driftMarginMs } from './lock-options.js';
import { SharedLeaseState } from './shared-lease.js';

/**
 * `released`: the key is deleted. `not-held`: it was gone before. `unknown`: no answer yet; the
 * release is repeated in the background until the TTL is over.
 */
export type ReleaseOutcome = 'released' | 'not-held' | 'unknown';

/** The right to work under a lock's name, for as long as `assertHeld()` does not throw. */
export interface Lease {
  /** The escaped name. */
  readonly name: string;
  /** The fencing token: greater than that of every earlier holder of this name. In JSON a decimal string. */
  readonly fence: bigint;
  /** The fence of one of the lease's names; most leases have one. @throws LockOptionsError for another name */
  fenceOf(name: string | LockName): bigint;
  /** Which of several things was granted: the member of a pool. undefined for locks and semaphores. */
  readonly permit?: string | undefined;
  /** The store's own clock when the lock was granted, in ms since the Unix epoch. */
  readonly storeTimeMs: number;
  /** The TTL that the watchdog renews with, in ms. */
  readonly ttlMs: number;
  /**
   * Aborts when the lease ends, by a local deadline at the latest; its reason is a LockLostError. After the
   * machine was suspended it may be late by up to a third of the TTL, since timers stood still: `assertHeld`
   * is not.
   */
  readonly signal: AbortSignal;
  /** How long the lease is valid without another renewal, in ms; 0 once it has ended. */
  readonly remainingMs: number;
  /** For worker threads: pass it on and call `assertHeld(shared)` there. */
  readonly shared: SharedArrayBuffer;
  /** Compares clocks, now. Call it before each irreversible step. @throws LockLostError */
  assertHeld(): void;
  /**
   * Sets the TTL that the watchdog renews with and renews at once; never shortens the key's life.
   * True once renewed; false where the store gave no verdict (the watchdog goes on trying).
   * @throws LockLostError when the lease has ended or turns out to be lost
   */
  extend(ttlMs: number): Promise<boolean>;
  /** Ends the lease. Idempotent, also when an earlier call had no answer. Never rejects. */
  release(): Promise<ReleaseOutcome>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What the engine does for a lease. */
export interface LeaseKeeper {
  release(lease: HeldLease): Promise<ReleaseOutcome>;
  extend(lease: HeldLease, ttlMs: number): Promise<boolean>;
  /** Called once, when a lease is lost. */
  onLost(lease: HeldLease, reason: LossCode): void;
}

/** What a grant came with. */
export interface GrantTerms {
  readonly name: string;
  readonly token: string;
  readonly fence: bigint;
  readonly permit: string | undefined;
  readonly storeTimeMs: number;
  readonly ttlMs: number;
  readonly maxHoldMs: number;
  readonly commandTimeoutMs: number;
  /** When the command was sent whose reply granted the lock. */
  readonly sentAt: Instant;
}

/** A granted lease: its validity is a local matter, counted from before the command was sent. */
export class HeldLease implements Lease {
  readonly name: string;
  readonly token: string;
  readonly fence: bigint;
  readonly permit: string | undefined;
  readonly storeTimeMs: number;
  readonly grantedAt: Instant;
  ttlMs: number;
  private readonly maxCommandTimeoutMs: number;
  private readonly maxUntil: Instant | undefined;
  private validUntil: Instant;
  private keyUntil: Instant;
  private ended: LossCode | undefined;
  private controller: AbortController | undefined;
  private sharedState: SharedLeaseState | undefined;

  /** How the release ended, once that is known for good. */
  outcome: ReleaseOutcome | undefined;
  /** The release that is under way. */
  releasing: Promise<ReleaseOutcome> | undefined;

  constructor(
    terms: GrantTerms,
    /** What took the lock, and may yet have commands under way. */
    readonly attempt: Attempt,
    private readonly clock: Clock,
    private readonly keeper: LeaseKeeper,
  ) {
    this.name = terms.name;
    this.token = terms.token;
    this.fence = terms.fence;
    this.permit = terms.permit;
    this.storeTimeMs = terms.storeTimeMs;
    this.ttlMs = terms.ttlMs;
    this.grantedAt = terms.sentAt;
    this.keyUntil = plusMs(terms.sentAt, terms.ttlMs);
    this.maxCommandTimeoutMs = terms.commandTimeoutMs;
    this.maxUntil =
      terms.maxHoldMs === Infinity ? undefined : plusMs(terms.sentAt, terms.maxHoldMs);
    this.validUntil = this.capped(plusMs(terms.sentAt, terms.ttlMs - driftMarginMs(terms.ttlMs)));
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.ended) this.controller.abort(this.endError(this.ended));
    }
    return this.controller.signal;
  }

  get shared(): SharedArrayBuffer {
    if (!this.sharedState) {
      this.sharedState = new SharedLeaseState();
      this.sharedState.setValidUntil(this.validUntil, this.clock.now());
      if (this.ended) this.sharedState.end(this.ended);
    }
    return this.sharedState.buffer;
  }

  get remainingMs(): number {
    return this.ended ? 0 : Math.max(0, remainingMs(this.validUntil, this.clock.now()));
  }

  /** At most a third of the TTL, so that a renewal without an answer leaves time for another. */
  get commandTimeoutMs(): number {
    return Math.min(this.maxCommandTimeoutMs, Math.floor(this.ttlMs / 3));
  }

  /** Not released yet, though it may be lost: its work is still under way. */
  get isOpen(): boolean {
    return this.ended !== 'RELEASED';
  }

  /** Neither lost nor released, as far as anybody has looked. */
  get isHeld(): boolean {
    return this.ended === undefined;
  }

  /** Why the lease was lost; undefined while it is held, and after an orderly release. */
  get loss(): LockLostError | undefined {
    return this.lossBeforeRelease;
  }
  private lossBeforeRelease: LockLostError | undefined;

  /** When the lease ends if nothing renews it. */
  get deadline(): Instant {
    return this.validUntil;
  }

  fenceOf(name: string | LockName): bigint {
    const { escaped } = LockName.of(name);
    if (escaped !== this.name) throw new LockOptionsError(`"${escaped}" is not "${this.name}".`);
    return this.fence;
  }

  assertHeld(): void {
    this.checkDeadline();
    if (this.ended) throw this.endError(this.ended);
  }

  extend(ttlMs: number): Promise<boolean> {
    return this.keeper.extend(this, ttlMs);
  }

  release(): Promise<ReleaseOutcome> {
    return this.keeper.release(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** The TTL to ask for now: never beyond maxHoldMs. Undefined when nothing more is to be asked for. */
  renewalTtlMs(): number | undefined {
    if (!this.maxUntil) return this.ttlMs;
    if (remainingMs(this.maxUntil, this.validUntil) <= 0) return undefined;
    const rest = remainingMs(this.maxUntil, this.clock.now());
    return Math.min(this.ttlMs, Math.ceil(rest) + driftMarginMs(this.ttlMs));
  }

  /** When the key has run out whatever became of the commands sent so far: after the lease, which may end at maxHoldMs. */
  get endOfKey(): Instant {
    return this.keyUntil;
  }

  /** A renewal leaves now; with or without an answer, it may prolong the key's life. */
  renewalSent(sentAt: Instant, ttlMs: number): void {
    const until = plusMs(sentAt, ttlMs);
    if (remainingMs(until, this.keyUntil) > 0) this.keyUntil = until;
  }

  /** A renewal sent at `sentAt` was confirmed. Only ever moves the end further away. */
  renewed(sentAt: Instant, ttlMs: number): void {
    if (this.ended) return;
    const until = this.capped(plusMs(sentAt, ttlMs - driftMarginMs(ttlMs)));
    // Seen from now: after a step of the wall clock the two ends cannot be compared with each other.
    const now = this.clock.now();
    if (remainingMs(until, now) <= remainingMs(this.validUntil, now)) return;
    this.validUntil = until;
    this.sharedState?.setValidUntil(until, this.clock.now());
  }

  /** Its time has passed, whether it has ended or not. */
  isOverdue(now = this.clock.now()): boolean {
    return remainingMs(this.validUntil, now) <= 0;
  }

  /** Ends the lease as lost if its time has passed. True when it is over. */
  checkDeadline(now = this.clock.now()): boolean {
    if (this.ended) return true;
    if (!this.isOverdue(now)) return false;
    const atMaximum = this.maxUntil !== undefined && remainingMs(this.maxUntil, now) <= 0;
    this.lose(atMaximum ? 'MAX_HOLD' : 'EXPIRED');
    return true;
  }

  /** Ends the lease under its holder. Without effect once it has ended. */
  lose(reason: Exclude<LossCode, 'RELEASED'>, cause?: unknown): void {
    if (this.ended) return;
    this.lossBeforeRelease = new LockLostError(this.name, reason, { cause });
    this.end(reason);
    this.keeper.onLost(this, reason);
  }

  /**
   * The work is over, after so many ms. The signal aborts too, so that detached work learns it is not
   * covered.
   */
  close(): number {
    const now = this.clock.now();
    this.checkDeadline(now);
    if (this.ended !== 'RELEASED') this.end('RELEASED');
    return elapsedMs(this.grantedAt, now);
  }

  /** A release found the key gone while the lease was still valid: it was lost during the work. */
  foundGone(): void {
    this.lossBeforeRelease ??= new LockLostError(this.name, 'NOT_OWNER');
    this.keeper.onLost(this, 'NOT_OWNER');
  }

  private end(reason: LossCode): void {
    this.ended = reason;
    this.sharedState?.end(reason);
    this.controller?.abort(this.endError(reason));
  }

  /** Made when somebody asks: most leases end without anybody looking. */
  private endError(reason: LossCode): LockLostError {
    const loss = this.lossBeforeRelease;
    return loss?.reason === reason ? loss : new LockLostError(this.name, reason);
  }

  private capped(until: Instant): Instant {
    return this.maxUntil && remainingMs(this.maxUntil, until) < 0 ? this.maxUntil : until;
  }
}
