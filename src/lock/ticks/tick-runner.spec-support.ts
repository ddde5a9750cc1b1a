import { LockManager } from '../core/lock-manager.js';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock } from '../testing/manual-clock.js';
import { MemoryTickMarks } from './memory-tick-marks.js';
import type { ClaimReply, TickClaim, TickMarks } from './tick-marks.js';
import type { TickJobOptions } from './tick-options.js';
import type { TickReport } from './tick-report.js';
import { TickRunner } from './tick-runner.js';

/** What the clock shows when a test begins. */
export const START = Date.UTC(2026, 0, 1);

/** Marks that fail as told. */
export class FaultyMarks implements TickMarks {
  readonly claims: TickClaim[] = [];
  readonly faults: ('refuse' | 'lose-reply' | 'hang')[] = [];

  constructor(private readonly inner: TickMarks) {}

  async claim(claim: TickClaim): Promise<ClaimReply> {
    this.claims.push(claim);
    const fault = this.faults.shift();
    if (fault === 'refuse') throw new Error('the marks are away');
    const reply = await this.inner.claim(claim);
    if (fault === 'lose-reply') throw new Error('the connection broke');
    return fault === 'hang' ? new Promise<never>(() => undefined) : reply;
  }
}

/** Replicas that have the job "nightly", on one lock store and one set of marks; their time is a test's. */
export class JobReplicas {
  readonly clock = new ManualClock(START);
  readonly marks = new FaultyMarks(new MemoryTickMarks());
  readonly store = new FaultyStore(new MemoryLockStore(this.clock));
  /** Which replica ran which instant, in ms after the start. */
  readonly runs: string[] = [];

  /** A replica's runner for the job. */
  readonly replica = (
    name: string,
    job: Partial<TickJobOptions> = {},
    lockStore: FaultyStore = this.store,
  ) => {
    const { clock, marks, runs } = this;
    const locks = new LockManager({ store: lockStore, clock, instanceId: name });
    const runner = new TickRunner({ locks, marks, clock, job: { name: 'nightly', ...job } });
    const work = async (workMs: number, tick: Date | null) => {
      if (workMs > 0) await new Promise<void>((done) => clock.setTimer(done, workMs));
      runs.push(`${name} ${tick === null ? 'by hand' : tick.getTime() - START}`);
    };
    return {
      locks,
      runner,
      tick: (offsetMs: number, workMs = 0, periodMs?: number) =>
        runner.run(new Date(START + offsetMs), (_, tick) => work(workMs, tick.scheduledAt), {
          periodMs,
        }),
      byHand: (workMs = 0) => runner.runByHand((_, tick) => work(workMs, tick.scheduledAt)),
    };
  };
}

/** What became of each tick. */
export const outcomes = (reports: readonly TickReport[]) => reports.map(({ outcome }) => outcome);
