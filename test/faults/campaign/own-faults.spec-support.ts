import { describe, expect, it } from '@jest/globals';
import { runCampaign } from './campaign.js';
import { print } from './report.js';
import type { StoreName } from './stores/index.js';

/** Which stores are broken in which spec: `campaign` breaks everything else as well, the others share two cores. */
export const broken = {
  campaign: ['redis'],
  'redis-failovers': ['redis-sentinel', 'redis-cluster', 'redis-wait'],
  quorums: ['redlock', 'etcd', 'zookeeper'],
  postgres: ['postgres'],
} satisfies Readonly<Record<string, readonly StoreName[]>>;

/** Breaks each store once in each of its own ways. */
export function eachInItsOwnWays(stores: readonly StoreName[]): void {
  describe('broken once in each of its own ways, nothing breaks that is promised', () => {
    it.each(stores)(
      '%s',
      async (store) => {
        const report = await runCampaign({
          store,
          database: store === 'postgres' ? 'postgres' : 'sqlite',
          seed: 21,
          replicas: 2,
          clients: 4,
        });
        if (report.violations.length > 0) {
          print(report, (line) => process.stderr.write(`${line}\n`));
        }
        expect(report.violations).toEqual([]);
        expect(Object.keys(report.faults).length).toBeGreaterThan(1);
        expect(report.history.grants).toBeGreaterThan(20);
      },
      600_000,
    );
  });
}
