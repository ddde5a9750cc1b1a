/**
 * Measures doclock beside its peers on one Redis server of its own, and writes docs/benchmarks.md and
 * docs/benchmarks.svg. Needs the built service (`npm run build`) and redis-server on PATH.
 *
 *   node bench/bench.mjs [--quick] [--json FILE] [--poll MS] [--peers a,b] [--cases a,b] [--no-docs]
 *
 * The exit code is 0 when everything could be measured, whether the targets are met or not.
 */
import { readSettings } from './lib/settings.mjs';
import { ensurePackages } from './lib/install.mjs';

const settings = readSettings(process.argv.slice(2));
ensurePackages();
// Only now: these modules need the packages that may just have been installed.
const { runBenchmark } = await import('./lib/run.mjs');
await runBenchmark(settings);
