import { beforeEach, describe, expect, it } from '@jest/globals';
import { LockManager } from '../core/lock-manager.js';
import { LockOptionsError } from '../core/lock.errors.js';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { ManualClock } from '../testing/manual-clock.js';
import { MemoryTickMarks } from './memory-tick-marks.js';
import type { TickMarks } from './tick-marks.js';
import { TickRunner } from './tick-runner.js';

const START = Date.UTC(2026, 0, 1);
const A_DAY_MS = 86_400_000;

let wrong: ManualClock;
let right: ManualClock;
let locks: LockManager;
let ran: number;

beforeEach(() => {
  [wrong, right] = [new ManualClock(START + A_DAY_MS), new ManualClock(START)];
  // As etcd and ZooKeeper do, the store repeats what the clock of the asking process shows.
  const store = new MemoryLockStore(wrong);
  const capabilities = { ...store.capabilities, serverTime: false };
  locks = new LockManager({ store: Object.assign(store, { capabilities }), clock: wrong });
  ran = 0;
});

const runnerWith = (marks: TickMarks) =>
  new TickRunner({ locks, marks, clock: wrong, job: { name: 'nightly' } });
const work = () => {
  ran += 1;
};

describe('a job on a lock store that has no clock of its own', () => {
  it('refuses the instants of a replica whose clock is a day ahead, by the time of the marks', async () => {
    const runner = runnerWith(new MemoryTickMarks(right));
    const tomorrow = await runner.run(new Date(START + A_DAY_MS), work);
    expect(tomorrow).toMatchObject({ outcome: 'clock-fault', aheadMs: A_DAY_MS });
    expect(await runner.run(new Date(START), work)).toMatchObject({ outcome: 'ran' });
    expect(ran).toBe(1);
  });

  it('skips an instant as unavailable while the marks do not tell the time', async () => {
    const marks = new MemoryTickMarks(right);
    const away: TickMarks = {
      claim: (claim) => marks.claim(claim),
      nowMs: () => Promise.reject(Error('away')),
    };
    const report = runnerWith(away).run(new Date(START), work);
    await wrong.advance(60_000);
    expect(await report).toMatchObject({ outcome: 'skipped-unavailable' });
    expect(ran).toBe(0);
  });

  it('is refused where the marks have no clock either', () => {
    const marks = new MemoryTickMarks(right);
    const timeless: TickMarks = { claim: (claim) => marks.claim(claim) };
    expect(() => runnerWith(timeless)).toThrow(LockOptionsError);
    expect(() => runnerWith(timeless)).toThrow(/no clock that all replicas share/);
  });
});
