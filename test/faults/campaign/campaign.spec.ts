import { describe, expect, it } from '@jest/globals';
import { runCampaign } from './campaign.js';
import { print } from './report.js';

const runs = [
  { database: 'postgres', seed: 11 },
  { database: 'sqlite', seed: 12 },
] as const;

/** Of breaking; starting, recovering and looking come on top. */
const DURATION_MS = 40_000;

describe('a short campaign of faults', () => {
  it.each(runs)(
    'on $database breaks nothing that is promised (seed $seed)',
    async ({ database, seed }) => {
      const report = await runCampaign({
        store: 'redis',
        database,
        seed,
        replicas: 3,
        clients: 6,
        durationMs: DURATION_MS,
      });
      if (report.violations.length > 0) {
        print(report, (line) => process.stderr.write(`${line}\n`));
      }
      expect(report.violations).toEqual([]);
      expect(report.history.grants).toBeGreaterThan(20);
      expect(Object.keys(report.faults).length).toBeGreaterThan(0);
    },
    600_000,
  );
});
