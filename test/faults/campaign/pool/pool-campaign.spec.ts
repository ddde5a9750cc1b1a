import { describe, expect, it } from '@jest/globals';
import { runPoolCampaign } from './pool-campaign.js';

describe('a short campaign of faults on the key pool', () => {
  it.each([
    { seed: 21, concurrency: [1], durationMs: undefined },
    { seed: 22, concurrency: [1, 2], durationMs: 15_000 },
  ])(
    'gives no key to too many, serves everybody in the end, and leaves nothing behind (seed $seed)',
    async ({ seed, concurrency, durationMs }) => {
      const report = await runPoolCampaign({
        ...{ seed, concurrency, durationMs },
        ...{ replicas: 3, clients: 10 },
      });
      if (report.violations.length > 0) {
        process.stderr.write(`${JSON.stringify(report, null, 2)}\n`);
      }
      expect(report.violations).toEqual([]);
      // It has really looked.
      expect(report.mostAtOnce).toBe(Math.max(...concurrency));
      expect(report.requests.proven).toBeGreaterThan(30);
      expect(report.leases).toBeGreaterThanOrEqual(report.requests.proven);
      if (durationMs !== undefined) return;
      expect(report.cutQuestions.all).toBeGreaterThan(0);
      expect(report.cutQuestions.answered).toBeGreaterThan(0);
    },
    600_000,
  );
});
