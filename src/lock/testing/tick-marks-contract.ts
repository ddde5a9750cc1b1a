import assert from 'node:assert/strict';
import type { TickMarks } from '../ticks/tick-marks.js';

/** One promise of the port for tick marks; `verify` rejects when the marks under test break it. */
export interface TickMarksCase {
  readonly promise: string;
  readonly verify: (marks: TickMarks) => Promise<void>;
}

const T1 = Date.UTC(2026, 0, 1, 3);
const T2 = T1 + 86_400_000;
// As fences are: microseconds of a server's clock.
const F1 = BigInt(T1) * 1000n;

let jobs = 0;
const newJob = (rest = '') => `contract-${process.pid}-${Date.now()}-${(jobs += 1)}${rest}`;

/** The promises that every store of tick marks keeps. Run it under any test runner. */
export const tickMarksContract: readonly TickMarksCase[] = [
  {
    promise: 'gives the time in whole milliseconds, where it has a clock',
    async verify(marks) {
      const now = await marks.nowMs?.();
      if (now === undefined) return;
      assert.ok(Number.isInteger(now), `${now}`);
      assert.ok(Math.abs(now - Date.now()) < 60_000, `${now}`);
    },
  },
  {
    promise: 'gives an instant to its first claimer only',
    async verify(marks) {
      const job = newJob();
      const claim = { job, tickMs: T1, fence: F1, done: true };
      assert.equal(await marks.claim(claim), 'claimed');
      assert.equal(await marks.claim({ ...claim, fence: F1 + 1n }), 'done');
      assert.equal(await marks.claim({ ...claim, fence: F1 + 2n, done: false }), 'done');
    },
  },
  {
    promise: 'refuses every earlier instant once a later one is done, and takes the next',
    async verify(marks) {
      const job = newJob();
      assert.equal(await marks.claim({ job, tickMs: T2, fence: F1, done: true }), 'claimed');
      assert.equal(await marks.claim({ job, tickMs: T1, fence: F1 + 1n, done: true }), 'done');
      assert.equal(await marks.claim({ job, tickMs: T2 - 1, fence: F1 + 1n, done: true }), 'done');
      assert.equal(
        await marks.claim({ job, tickMs: T2 + 1, fence: F1 + 1n, done: true }),
        'claimed',
      );
    },
  },
  {
    promise: 'answers a repeated claim as the first time, since the reply may have been lost',
    async verify(marks) {
      const job = newJob();
      const claim = { job, tickMs: T1, fence: F1, done: true };
      for (let round = 0; round < 3; round += 1) assert.equal(await marks.claim(claim), 'claimed');
      const begun = { job, tickMs: T2, fence: F1 + 1n, done: false };
      for (let round = 0; round < 3; round += 1) assert.equal(await marks.claim(begun), 'claimed');
    },
  },
  {
    promise: 'lets an instant that was begun be taken over by a newer fence, and marked only by it',
    async verify(marks) {
      const job = newJob();
      const first = { job, tickMs: T1, fence: F1 };
      const second = { job, tickMs: T1, fence: F1 + 1n };
      assert.equal(await marks.claim({ ...first, done: false }), 'claimed');
      assert.equal(await marks.claim({ ...second, done: false }), 'claimed');
      assert.equal(await marks.claim({ ...first, done: true }), 'stale');
      assert.equal(await marks.claim({ ...second, done: true }), 'claimed');
      assert.equal(await marks.claim({ ...first, done: true }), 'stale');
    },
  },
  {
    promise: 'refuses a stale fence also for an instant that nobody has touched',
    async verify(marks) {
      const job = newJob();
      await marks.claim({ job, tickMs: T1, fence: F1 + 1n, done: true });
      assert.equal(await marks.claim({ job, tickMs: T2, fence: F1, done: true }), 'stale');
      assert.equal(await marks.claim({ job, tickMs: T2, fence: F1 + 1n, done: true }), 'claimed');
    },
  },
  {
    promise: 'compares fences as numbers, however long',
    async verify(marks) {
      const job = newJob();
      const long = 2n ** 62n;
      const claim = (fence: bigint, tickMs: number) =>
        marks.claim({ job, tickMs, fence, done: true });
      assert.equal(await claim(9n, 1), 'claimed');
      assert.equal(await claim(10n, 2), 'claimed');
      assert.equal(await claim(9n, 3), 'stale');
      assert.equal(await claim(long + 1n, 10), 'claimed');
      assert.equal(await claim(long, 11), 'stale');
      assert.equal(await claim(long + 2n, 9), 'done');
      assert.equal(await claim(long + 2n, 100), 'claimed');
    },
  },
  {
    promise: 'keeps jobs apart',
    async verify(marks) {
      const base = newJob();
      for (const job of [base, `${base}:none`, `${base}%7B`, `${base}é`, `${base}*`]) {
        assert.equal(await marks.claim({ job, tickMs: T1, fence: F1, done: true }), 'claimed');
      }
      assert.equal(await marks.claim({ job: base, tickMs: 1, fence: F1 + 1n, done: true }), 'done');
    },
  },
  {
    promise: 'gives one of many simultaneous claims the instant',
    async verify(marks) {
      const job = newJob();
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          marks.claim({ job, tickMs: T1, fence: F1 + BigInt(index), done: true }),
        ),
      );
      assert.equal(replies.filter((reply) => reply === 'claimed').length, 1);
    },
  },
];
