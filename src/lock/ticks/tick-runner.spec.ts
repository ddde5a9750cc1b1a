import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockManager } from '../core/lock-manager.js';
import { LockBusyError, LockLostError, LockOptionsError } from '../core/lock.errors.js';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock, settle } from '../testing/manual-clock.js';
import { MemoryTickMarks } from './memory-tick-marks.js';
import type { ClaimReply, TickClaim, TickMarks } from './tick-marks.js';
import type { TickJobOptions } from './tick-options.js';
import { StaleTickError, type TickReport } from './tick-report.js';
import { TickRunner } from './tick-runner.js';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);

/** Marks that fail as told. */
class FaultyMarks implements TickMarks {
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

let clock: ManualClock;
let marks: FaultyMarks;
let store: FaultyStore;
let runs: string[];

beforeEach(() => {
  clock = new ManualClock(START);
  marks = new FaultyMarks(new MemoryTickMarks());
  store = new FaultyStore(new MemoryLockStore(clock));
  runs = [];
});

/** A replica's runner for the job "nightly". */
function replica(name: string, job: Partial<TickJobOptions> = {}, lockStore = store) {
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
}

const outcomes = (reports: readonly TickReport[]) => reports.map(({ outcome }) => outcome);

describe('an instant', () => {
  it('runs once, however short the job and however far apart the replicas', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => replica(name)) as [
      ReturnType<typeof replica>,
      ReturnType<typeof replica>,
      ReturnType<typeof replica>,
    ];
    const reports = [];
    for (const instant of [0, 60_000, 120_000]) {
      const first = a.tick(instant, 5);
      await clock.advance(5);
      reports.push(await first);
      await clock.advance(2_000);
      reports.push(await b.tick(instant, 5));
      await clock.advance(5_000);
      reports.push(await c.tick(instant, 5));
      await clock.advance(53_000);
    }
    expect(runs).toEqual(['a 0', 'a 60000', 'a 120000']);
    expect(outcomes(reports)).toEqual(
      Array(3).fill(['ran', 'skipped-done', 'skipped-done']).flat(),
    );
  });

  it('runs once when its timer fires twice, and never again after a later one', async () => {
    const a = replica('a');
    const reports = [await a.tick(1_000), await a.tick(1_000), await a.tick(2_000)];
    reports.push(await a.tick(1_000), await a.tick(1_999));
    expect(outcomes(reports)).toEqual([
      'ran',
      'skipped-done',
      'ran',
      'skipped-done',
      'skipped-done',
    ]);
  });

  it('runs when its timer fires early or very late, and once', async () => {
    const [a, b] = [replica('a'), replica('b')];
    expect((await a.tick(20_000)).outcome).toBe('ran');
    await clock.advance(20_000 + 3 * 3_600_000);
    expect((await b.tick(20_000)).outcome).toBe('skipped-done');
    expect((await b.tick(25_000)).outcome).toBe('ran');
  });

  it('is one job under the old and the new expression while a change is rolled out', async () => {
    const [everyMinute, every90] = [replica('old'), replica('new')];
    const reports = [];
    for (let ms = 0; ms <= 180_000; ms += 30_000) {
      if (ms % 60_000 === 0) reports.push(await everyMinute.tick(ms));
      if (ms % 90_000 === 0) reports.push(await every90.tick(ms));
      await clock.advance(30_000);
    }
    expect(outcomes(reports).filter((outcome) => outcome === 'ran')).toHaveLength(5);
    expect(runs.map((run) => run.split(' ')[1])).toEqual([
      '0',
      '60000',
      '90000',
      '120000',
      '180000',
    ]);
  });

  it('that comes while an earlier one still runs is skipped, not queued', async () => {
    const [a, b] = [replica('a'), replica('b')];
    const long = a.tick(0, 90_000);
    await clock.advance(60_000);
    expect((await b.tick(60_000)).outcome).toBe('skipped-held');
    expect((await a.tick(60_000)).outcome).toBe('skipped-held');
    await clock.advance(60_000);
    expect((await long).outcome).toBe('ran');
    expect((await b.tick(120_000)).outcome).toBe('ran');
    expect(runs).toEqual(['a 0', 'b 120000']);
  });

  it('must be a date', async () => {
    const work = jest.fn<() => void>();
    await expect(replica('a').runner.run(new Date(Number.NaN), work)).rejects.toThrow(
      LockOptionsError,
    );
    expect(work).not.toHaveBeenCalled();
  });
});

describe('a clock fault', () => {
  it('refuses a tick far ahead of the store, so that its mark cannot block the others', async () => {
    const [good, dayAhead] = [replica('good'), replica('ahead')];
    const report = await dayAhead.tick(DAY_MS);
    expect(report).toMatchObject({ outcome: 'clock-fault', aheadMs: DAY_MS });
    expect(marks.claims).toEqual([]);
    expect((await good.tick(0)).outcome).toBe('ran');
    expect(runs).toEqual(['good 0']);
  });

  it('begins after 60 s, or half a period where that is longer', async () => {
    const a = replica('a');
    expect((await a.tick(60_001)).outcome).toBe('clock-fault');
    expect((await a.tick(60_001, 0, 100_000)).outcome).toBe('clock-fault');
    expect((await a.tick(60_000)).outcome).toBe('ran');
    expect((await a.tick(DAY_MS / 2 + 1, 0, DAY_MS)).outcome).toBe('clock-fault');
    expect((await a.tick(DAY_MS / 2, 0, DAY_MS)).outcome).toBe('ran');
  });

  it('is judged by the time of the store, not by a fence that is ahead of it', async () => {
    await replica('before').tick(0);
    clock.stepWall(-3_600_000);
    const after = await replica('after').tick(61_000 - 3_600_000);
    expect(after.outcome).toBe('clock-fault');
  });
});

describe('at most once', () => {
  it('marks before the work, so that a tick that failed stays done', async () => {
    const a = replica('a');
    const boom = new Error('boom');
    const report = await a.runner.run(new Date(START), () => Promise.reject(boom));
    expect(report).toMatchObject({ outcome: 'failed', error: boom });
    expect((await a.tick(0)).outcome).toBe('skipped-done');
    expect((await a.tick(1_000)).outcome).toBe('ran');
  });

  it('does not run where the claim stays without an answer', async () => {
    marks.faults.push(...Array<'refuse'>(100).fill('refuse'));
    const report = replica('a').tick(0);
    await clock.advance(5_000);
    expect(await report).toMatchObject({
      outcome: 'skipped-unavailable',
      error: new Error('the marks are away'),
    });
    expect(runs).toEqual([]);
  });

  it('does not run, and lets go, where the claim hangs', async () => {
    marks.faults.push('hang');
    const report = replica('a').tick(0);
    await clock.advance(5_000);
    expect((await report).outcome).toBe('skipped-unavailable');
    expect(await store.inspect('job:nightly')).toBeNull();
  });

  it('runs once when the reply to the claim was lost', async () => {
    marks.faults.push('lose-reply');
    const report = replica('a').tick(0);
    await clock.advance(100);
    expect((await report).outcome).toBe('ran');
    expect(runs).toEqual(['a 0']);
    expect((await replica('b').tick(0)).outcome).toBe('skipped-done');
  });
});

describe('at least once', () => {
  const job = { mode: 'at-least-once' } as const;

  it('marks after success only', async () => {
    const a = replica('a', job);
    const failed = await a.runner.run(new Date(START), () => Promise.reject(new Error('boom')));
    expect(failed.outcome).toBe('failed');
    expect((await a.tick(0)).outcome).toBe('ran');
    expect((await a.tick(0)).outcome).toBe('skipped-done');
  });

  it('is taken over after a crash with a new fence, and the dead one cannot mark any more', async () => {
    const silent = new FaultyStore(store);
    const dying = replica('dying', job, silent);
    const lost = dying.tick(0, 100_000);
    await settle();
    silent.always('renew', 'lose-request');
    const heir = replica('heir', { ...job, lock: { waitMs: 60_000 } });
    const taken = heir.tick(0, 90_000);
    await clock.advance(31_000);
    expect(marks.claims).toHaveLength(2);
    await clock.advance(100_000);
    const [first, second] = [await lost, await taken];
    expect(first).toMatchObject({ outcome: 'failed', error: expect.any(LockLostError) });
    expect(second.outcome).toBe('ran');
    expect(second.fence).toBeGreaterThan(first.fence ?? 0n);
    expect((await replica('late', job).tick(0)).outcome).toBe('skipped-done');
  });

  it('does not let a process that lost its lease without noticing mark the instant', async () => {
    const zombie = replica('zombie', job);
    const report = await zombie.runner.run(new Date(START), async (lease) => {
      await marks.claim({ job: 'nightly', tickMs: START, fence: lease.fence + 1n, done: false });
    });
    expect(report).toMatchObject({ outcome: 'failed', error: expect.any(StaleTickError) });
    expect((await replica('next', job).tick(0)).outcome).toBe('ran');
  });

  it('with a wait skips what the holder has finished meanwhile', async () => {
    const [a, b] = [replica('a', job), replica('b', { ...job, lock: { waitMs: 60_000 } })];
    const first = a.tick(0, 5_000);
    const second = b.tick(0, 5_000);
    await clock.advance(30_000);
    expect(outcomes([await first, await second])).toEqual(['ran', 'skipped-done']);
    expect(runs).toEqual(['a 0']);
  });
});

describe('the other outcomes', () => {
  it('a lock store without an answer is told apart from a held lock', async () => {
    store.always('tryAcquire', 'refuse');
    const report = await replica('a').tick(0);
    expect(report).toMatchObject({ outcome: 'skipped-unavailable', fence: undefined });
    store.heal();
    expect((await replica('a').tick(0)).outcome).toBe('ran');
  });

  it('work whose lease was lost has failed, whatever it returned', async () => {
    store.always('renew', 'lose-request');
    const report = replica('a').tick(0, 40_000);
    await clock.advance(45_000);
    expect(await report).toMatchObject({ outcome: 'failed', error: expect.any(LockLostError) });
  });

  it('busy locks of the work itself are its failure, not a skip', async () => {
    const error = new LockBusyError('doc:1', undefined, 0);
    const report = await replica('a').runner.run(new Date(START), () => Promise.reject(error));
    expect(report).toMatchObject({ outcome: 'failed', error });
  });

  it('are counted, and told to listeners when the lock is free, who cannot break anything', async () => {
    const [a, b] = [replica('a'), replica('b')];
    const seen: TickReport[] = [];
    const free: Promise<unknown>[] = [];
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    a.runner.onReport(() => {
      throw new Error('observer');
    });
    const stop = a.runner.onReport((report) => {
      seen.push(report);
      free.push(store.inspect('job:nightly'));
    });
    const first = a.tick(0, 5);
    await clock.advance(5);
    await first;
    await a.tick(0);
    await b.locks.run('job:nightly', async () => {
      await a.tick(1_000);
    });
    stop();
    await a.tick(1_000);
    expect(outcomes(seen)).toEqual(['ran', 'skipped-done', 'skipped-held']);
    expect(seen[0]).toMatchObject({
      job: 'nightly',
      scheduledAt: new Date(START),
      startedAt: new Date(START),
      durationMs: 5,
      fence: expect.any(BigInt),
    });
    expect(await Promise.all(free.slice(0, 2))).toEqual([null, null]);
    expect(Object.fromEntries(a.runner.counts)).toEqual({
      ran: 2,
      'skipped-done': 1,
      'skipped-held': 1,
    });
    expect(warning).toHaveBeenCalledTimes(4);
    warning.mockRestore();
  });
});

describe('a run by hand', () => {
  it('takes the lock and leaves the mark', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await b.byHand();
    expect((await a.tick(0)).outcome).toBe('ran');
    await b.byHand();
    expect((await a.tick(1_000)).outcome).toBe('ran');
    expect(runs).toEqual(['b by hand', 'a 0', 'b by hand', 'a 1000']);
    expect(Object.fromEntries(b.runner.counts)).toEqual({});
  });

  it('is refused while the job runs, and a tick is skipped during it', async () => {
    const [a, b] = [replica('a'), replica('b')];
    const running = a.tick(0, 50);
    await settle();
    await expect(b.byHand()).rejects.toThrow(LockBusyError);
    await clock.advance(50);
    await running;
    const byHand = b.byHand(50);
    await settle();
    expect((await a.tick(1_000)).outcome).toBe('skipped-held');
    await clock.advance(50);
    await byHand;
  });

  it('fails as its work does', async () => {
    const seen: TickReport[] = [];
    const { runner } = replica('a');
    runner.onReport((report) => seen.push(report));
    await expect(runner.runByHand(() => Promise.reject(new Error('boom')))).rejects.toThrow('boom');
    expect(seen).toMatchObject([{ outcome: 'failed', scheduledAt: null }]);
    expect(await store.inspect('job:nightly')).toBeNull();
  });
});

describe('the options of a job', () => {
  it.each([
    [{ name: '' }, /empty/],
    [{ name: 7 as unknown as string }, /string/],
    [{ name: 'a', mode: 'once' as 'at-most-once' }, /mode is once/],
    [{ name: 'a', maxAheadMs: 0 }, /maxAheadMs is 0/],
    [{ name: 'a', claimTimeoutMs: 1.5 }, /claimTimeoutMs is 1.5/],
    [{ name: 'a', lock: { ttlMs: 1 } }, /ttlMs is 1/],
  ])('%j is refused', (job, message) => {
    const locks = new LockManager({ store, clock });
    expect(() => new TickRunner({ locks, marks, clock, job })).toThrow(LockOptionsError);
    expect(() => new TickRunner({ locks, marks, clock, job })).toThrow(message);
  });

  it('make one lock and one mark of a name, whatever characters it has', () => {
    const locks = new LockManager({ store, clock });
    const { job } = new TickRunner({ locks, marks, clock, job: { name: 'a:b {c}' } });
    expect(job).toMatchObject({ name: 'a%3Ab%20%7Bc%7D', mode: 'at-most-once' });
    expect(String(job.lockName)).toBe('job:a%3Ab%20%7Bc%7D');
  });
});
