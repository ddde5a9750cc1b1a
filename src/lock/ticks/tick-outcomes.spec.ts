import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockBusyError, LockLostError } from '../core/lock.errors.js';
import type { FaultyStore } from '../testing/faulty-store.js';
import { type ManualClock, settle } from '../testing/manual-clock.js';
import type { TickReport } from './tick-report.js';
import { JobReplicas, outcomes, START } from './tick-runner.spec-support.js';

let clock: ManualClock;
let store: FaultyStore;
let runs: string[];
let replica: JobReplicas['replica'];

beforeEach(() => {
  ({ clock, store, runs, replica } = new JobReplicas());
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
