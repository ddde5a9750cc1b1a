import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockManager } from '../core/lock-manager.js';
import { LockOptionsError } from '../core/lock.errors.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import type { ManualClock } from '../testing/manual-clock.js';
import { TickRunner } from './tick-runner.js';
import { type FaultyMarks, JobReplicas, outcomes } from './tick-runner.spec-support.js';

const DAY_MS = 86_400_000;

let clock: ManualClock;
let marks: FaultyMarks;
let store: FaultyStore;
let runs: string[];
let replica: JobReplicas['replica'];

beforeEach(() => {
  ({ clock, marks, store, runs, replica } = new JobReplicas());
});

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
