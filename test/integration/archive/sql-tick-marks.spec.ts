import { expect, it } from '@jest/globals';
import { SqlTickMarks } from '../../../src/archive/sql-tick-marks.js';
import { tickMarksContract } from '../../../src/lock/testing/index.js';
import { onBothDatabases } from '../../support/databases.js';

onBothDatabases('the marks of scheduled jobs', (databases) => {
  it('keep the contract', async () => {
    const marks = new SqlTickMarks(await databases.open());
    for (const { promise, verify } of tickMarksContract) {
      await verify(marks).catch((cause: unknown) => {
        throw new Error(`broken: ${promise}`, { cause });
      });
    }
  });

  it('give an instant to one of many processes that claim it at once', async () => {
    const options = await databases.createOptions();
    const opened = await Promise.all([1, 2, 3].map(() => databases.open(options)));
    for (let round = 1; round <= 5; round += 1) {
      const replies = await Promise.all(
        opened.flatMap((database, index) =>
          [0, 1, 2].map((more) =>
            new SqlTickMarks(database).claim({
              job: 'raced',
              tickMs: round,
              fence: BigInt(round * 100 + index * 10 + more),
              done: true,
            }),
          ),
        ),
      );
      expect(replies.filter((reply) => reply === 'claimed')).toHaveLength(1);
    }
  });

  it('outlive the process', async () => {
    const options = await databases.createOptions();
    const claim = { job: 'nightly', tickMs: 1_767_236_400_000, fence: 7n, done: true };
    expect(await new SqlTickMarks(await databases.open(options)).claim(claim)).toBe('claimed');
    const later = new SqlTickMarks(await databases.open(options));
    expect(await later.claim({ ...claim, fence: 8n })).toBe('done');
    expect(await later.claim({ ...claim, tickMs: claim.tickMs + 1, fence: 6n })).toBe('stale');
  });
});
