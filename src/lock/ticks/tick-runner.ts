import { type Clock, elapsedMs, type Instant, SystemClock } from '../core/clock.js';
import { observe } from '../core/lock-events.js';
import type { Lease } from '../core/lease.js';
import type { Hold } from '../core/hold.js';
import type { LockManager } from '../core/lock-manager.js';
import { LockBusyError, LockOptionsError, LockUnavailableError } from '../core/lock.errors.js';
import { answerWithin, claimWithin } from './claim-within.js';
import type { ClaimReply, TickMarks } from './tick-marks.js';
import { type ResolvedTickJob, resolveTickJob, type TickJobOptions } from './tick-options.js';
import {
  StaleTickError,
  type Tick,
  type TickEnding,
  type TickOutcome,
  type TickReport,
} from './tick-report.js';

/** What a runner is made of. */
export interface TickRunnerOptions {
  readonly locks: LockManager;
  readonly marks: TickMarks;
  readonly job: TickJobOptions;
  readonly clock?: Clock | undefined;
}

/** The work of a job: it stops when the lease's signal aborts, and writes with the lease's fence. */
export type TickWork<T> = (lease: Lease, tick: Tick) => T | Promise<T>;

/**
 * Runs each scheduled instant of one job once, over all processes that share the lock store and the
 * marks, however far apart their timers fire: takes the job's lock, then claims the instant under it.
 * An instant that comes while the job still runs an earlier one is skipped (`skipped-held`), not
 * queued. Three round trips for a run, one for a skip of a held job.
 *
 * `at-most-once` and `at-least-once` count runs; what a run does to other systems stays exact only if
 * those refuse older fences, or do not mind repetition.
 */
export class TickRunner {
  /** The job, with its defaults filled in. */
  readonly job: ResolvedTickJob;
  private readonly locks: LockManager;
  private readonly marks: TickMarks;
  private readonly clock: Clock;
  private readonly listeners = new Set<(report: TickReport) => void>();
  private readonly outcomes = new Map<TickOutcome, number>();

  /** @throws LockOptionsError */
  constructor({ locks, marks, job, clock = new SystemClock() }: TickRunnerOptions) {
    this.job = resolveTickJob(job);
    if (!locks.capabilities.serverTime && !marks.nowMs) {
      throw new LockOptionsError(
        `The job "${this.job.name}" has no clock that all replicas share: neither its lock store nor its tick marks have one, so a replica whose clock is ahead would run instants too early and keep all others out. Keep the marks where there is a clock (RedisTickMarks, or nowMs() in marks of your own).`,
      );
    }
    this.locks = locks;
    this.marks = marks;
    this.clock = clock;
  }

  /** How many scheduled runs ended how, since this runner was made. Runs by hand are not counted. */
  get counts(): ReadonlyMap<TickOutcome, number> {
    return this.outcomes;
  }

  /** Calls `listener` after every run, by hand or not, when the lock is free again. Returns what ends it. */
  onReport(listener: (report: TickReport) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Runs the instant `scheduledAt`, the one that the timer was armed for and never "now", unless it
   * is done or being done. `periodMs` is the time from it to the job's next instant, where known.
   * @throws LockOptionsError for a date that is none, LockReentryError inside the job's own work;
   * everything else is an outcome
   */
  async run<T>(
    scheduledAt: Date,
    work: TickWork<T>,
    { periodMs = 0 }: { readonly periodMs?: number | undefined } = {},
  ): Promise<TickReport<T>> {
    const { name, lockName, lock } = this.job;
    const tickMs = scheduledAt.getTime();
    if (!(tickMs >= 0)) {
      throw new LockOptionsError(
        `The scheduled instant of job "${name}" is ${String(scheduledAt)}; it must be a date from 1970 on.`,
      );
    }
    const tick: Tick = { job: name, scheduledAt };
    const startedAt = this.clock.now();
    let hold: Hold;
    try {
      hold = await this.locks.hold(lockName, lock);
    } catch (error) {
      return this.report(tick, startedAt, undefined, endingWithoutLock(error));
    }
    const ending = await this.claimAndWork(hold, tickMs, periodMs, (lease) => work(lease, tick));
    return this.report(tick, startedAt, hold, await release(hold, ending));
  }

  /**
   * Runs the work now, under the job's lock, and leaves the mark alone: the schedule goes on as if
   * nothing had happened.
   * @throws as `LockManager.run`, with LockBusyError while the job runs anywhere
   */
  async runByHand<T>(work: TickWork<T>): Promise<T> {
    const tick: Tick = { job: this.job.name, scheduledAt: null };
    const startedAt = this.clock.now();
    const hold = await this.locks.hold(this.job.lockName, this.job.lock);
    const done = await workUnder(hold, (lease) => work(lease, tick));
    const ending = await release(hold, done);
    this.report(tick, startedAt, hold, ending);
    if (ending.outcome === 'failed') throw ending.error;
    return ending.result;
  }

  private async claimAndWork<T>(
    hold: Hold,
    tickMs: number,
    periodMs: number,
    work: (lease: Lease) => T | Promise<T>,
  ): Promise<TickEnding<T>> {
    const { mode, maxAheadMs } = this.job;
    let reply: ClaimReply;
    try {
      const aheadMs = tickMs - (await this.sharedTimeMs(hold));
      if (aheadMs > Math.max(maxAheadMs, periodMs / 2)) return { outcome: 'clock-fault', aheadMs };
      reply = await this.claim(hold, tickMs, mode === 'at-most-once');
    } catch (error) {
      return { outcome: 'skipped-unavailable', error };
    }
    if (reply === 'done') return { outcome: 'skipped-done' };
    if (reply === 'stale') return this.stale(hold);
    const ending = await workUnder(hold, work);
    if (mode === 'at-most-once' || ending.outcome === 'failed') return ending;
    try {
      hold.lease.assertHeld();
      const marked = await this.claim(hold, tickMs, true);
      return marked === 'stale' ? this.stale(hold) : ending;
    } catch (error) {
      return { outcome: 'failed', error };
    }
  }

  /** The lock store's time at the grant or, where it has none, that of the marks, now. */
  private sharedTimeMs({ lease }: Hold): Promise<number> | number {
    const nowMs = this.marks.nowMs?.bind(this.marks);
    if (this.locks.capabilities.serverTime || !nowMs) return lease.storeTimeMs;
    const { claimTimeoutMs: timeoutMs } = this.job;
    return answerWithin(nowMs, { clock: this.clock, timeoutMs, signal: lease.signal });
  }

  private claim({ lease }: Hold, tickMs: number, done: boolean): Promise<ClaimReply> {
    const { name: job, claimTimeoutMs: timeoutMs } = this.job;
    const claim = { job, tickMs, fence: lease.fence, done };
    return claimWithin(this.marks, claim, { clock: this.clock, timeoutMs, signal: lease.signal });
  }

  private stale({ lease }: Hold): { outcome: 'failed'; error: Error } {
    return { outcome: 'failed', error: new StaleTickError(this.job.name, lease.fence) };
  }

  private report<T>(
    tick: Tick,
    startedAt: Instant,
    hold: Hold | undefined,
    ending: TickEnding<T>,
  ): TickReport<T> {
    const report: TickReport<T> = {
      ...tick,
      fence: hold?.lease.fence,
      startedAt: new Date(startedAt.wallMs),
      durationMs: elapsedMs(startedAt, this.clock.now()),
      ...ending,
    };
    if (tick.scheduledAt) {
      this.outcomes.set(ending.outcome, (this.outcomes.get(ending.outcome) ?? 0) + 1);
    }
    for (const listener of this.listeners) observe(tick.job, () => listener(report));
    return report;
  }
}

/** @throws what is the caller's mistake */
function endingWithoutLock(error: unknown): TickEnding<never> {
  if (error instanceof LockBusyError) return { outcome: 'skipped-held' };
  if (error instanceof LockUnavailableError) return { outcome: 'skipped-unavailable', error };
  throw error;
}

type WorkEnding<T> = Extract<TickEnding<T>, { outcome: 'ran' | 'failed' }>;

async function workUnder<T>(
  hold: Hold,
  work: (lease: Lease) => T | Promise<T>,
): Promise<WorkEnding<T>> {
  try {
    return { outcome: 'ran', result: await hold.enter(() => work(hold.lease)) };
  } catch (error) {
    return { outcome: 'failed', error };
  }
}

/** Gives the lock back. Work whose lease was not held to its end has failed, whatever it returned. */
async function release<T, E extends TickEnding<T>>(
  hold: Hold,
  ending: E,
): Promise<E | Extract<TickEnding<T>, { outcome: 'failed' }>> {
  if (ending.outcome !== 'ran') {
    await hold.end();
    return ending;
  }
  try {
    await hold.end({ result: ending.result });
    return ending;
  } catch (error) {
    return { outcome: 'failed', error };
  }
}
