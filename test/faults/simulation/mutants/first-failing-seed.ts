import { simulate, type SimulationOptions } from '../simulation.js';

/** The first of so many seeds in which something is found, and what; null where nothing is. */
export async function firstFailingSeed(
  seeds: number,
  options: SimulationOptions = {},
): Promise<{ readonly seed: number; readonly rule: string } | null> {
  for (let seed = 0; seed < seeds; seed += 1) {
    const { report } = await simulate(seed, options);
    const [violation] = report.violations;
    if (violation) return { seed, rule: violation.rule };
  }
  return null;
}
