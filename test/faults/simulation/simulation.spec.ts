import { describe, expect, it } from '@jest/globals';
import { simulate, type SimulationResult } from './simulation.js';

const SEEDS = 10_000;
const AT_ONCE = 1_000;

const blocks = Array.from({ length: SEEDS / AT_ONCE }, (_, index) => index * AT_ONCE);
const seen = { weathers: new Set<string>(), stores: new Set<string>() };
const sums = { grants: 0, losses: 0, refused: 0, excusedOverlaps: 0, excusedFences: 0 };

/** What a person needs to go on with a seed that fails. */
function complaints({ seed, weather, store, report }: SimulationResult): string[] {
  return report.violations.map(
    ({ rule, at, what }) =>
      `npm run simulate -- --seed ${seed}  (${weather}, ${store}): ${rule} at ${at.toFixed(2)}: ${what}`,
  );
}

function add(result: SimulationResult): void {
  seen.weathers.add(result.weather);
  seen.stores.add(result.store);
  for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += result.report[key];
}

async function everything(seed: number): Promise<string> {
  const lines: string[] = [];
  const { history } = await simulate(seed, {
    trace: (at, who, what) => lines.push(`${at} ${who} ${what}`),
  });
  lines.push(...history.map((event) => Object.values(event).map(String).join()));
  return lines.join('\n');
}

describe('the engine, simulated', () => {
  it.each(blocks)(
    'keeps its promises in a thousand simulations from seed %i on',
    async (from) => {
      const found: string[] = [];
      for (let seed = from; seed < from + AT_ONCE; seed += 1) {
        const result = await simulate(seed);
        found.push(...complaints(result));
        add(result);
      }
      expect(found).toEqual([]);
    },
    120_000,
  );

  it('has been through every weather, with both stores, and lost, refused and excused', () => {
    expect([...seen.stores].sort()).toEqual(['memory', 'model']);
    expect(seen.weathers.size).toBe(9);
    for (const sum of Object.values(sums)) expect(sum).toBeGreaterThan(SEEDS / 100);
  });

  it('goes the same way each time, down to the last message', async () => {
    for (const seed of [1, 7, 954, 4_711, 9_999]) {
      const first = await everything(seed);
      expect(first.length).toBeGreaterThan(10_000);
      expect(await everything(seed)).toBe(first);
    }
  });
});
