import { beforeEach, describe, expect, it } from '@jest/globals';
import { LockLostError } from '../core/lock.errors.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import { StaleTickError } from './tick-report.js';
import { type FaultyMarks, JobReplicas, outcomes, START } from './tick-runner.spec-support.js';

let clock: ManualClock;
let marks: FaultyMarks;
let store: FaultyStore;
let runs: string[];
let replica: JobReplicas['replica'];

beforeEach(() => {
  ({ clock, marks, store, runs, replica } = new JobReplicas());
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
