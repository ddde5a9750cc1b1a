import { parseArgs } from 'node:util';
import { simulate, type SimulationResult } from './simulation.js';

/**
 * `npm run simulate -- --seed 7` prints everything that happens in one simulation; `--seeds 10000`
 * (with `--from`) runs many, prints those that fail and ends with exit code 1 if there is one.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '0' },
    },
  });
  if (values.seed !== undefined) await printOne(whole('seed', values.seed));
  else await runMany(whole('from', values.from), whole('seeds', values.seeds));
}

async function printOne(seed: number): Promise<void> {
  const result = await simulate(seed, {
    trace: (at, who, what) => print(`${at.toFixed(2).padStart(12)} ${who.padEnd(8)} ${what}`),
  });
  report(result);
}

async function runMany(from: number, count: number): Promise<void> {
  const startedAt = performance.now();
  const sums: Record<string, number> = {};
  for (let seed = from; seed < from + count; seed += 1) {
    const result = await simulate(seed);
    const { asks, grants, losses, refused, excusedOverlaps, excusedFences } = result.report;
    const one = { asks, grants, losses, refused, excusedOverlaps, excusedFences };
    for (const [key, value] of Object.entries(one)) sums[key] = (sums[key] ?? 0) + value;
    sums['events'] = (sums['events'] ?? 0) + result.events;
    if (result.report.violations.length > 0) report(result);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  print(JSON.stringify(sums));
  print(`${count} seeds in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} per second`);
}

function report({ seed, weather, store, report: { violations, ...rest } }: SimulationResult): void {
  print(`seed ${seed}, ${weather}, ${store}: ${JSON.stringify(rest)}`);
  for (const { rule, at, what } of violations) print(`  ${rule} at ${at.toFixed(2)}: ${what}`);
  if (violations.length > 0) process.exitCode = 1;
}

/** @throws where it is none */
function whole(option: string, value: string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`--${option} is "${value}"; it must be a whole number.`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
