/**
 * Measures the built service as processes of its own, and writes docs/service-figures.md. Each file of
 * bench/service/ is a case; it starts what it needs, on loopback, and all of that ends with it. Needs Linux,
 * since CPU time and memory are read in /proc.
 *
 *   npm run bench:service -- [--quick] [--cases start,requests] [--json FILE] [--no-docs]
 *
 * The exit code tells whether everything could be measured, not whether the bars are met.
 */
import { readdir, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensurePackages } from './lib/install.mjs';
import { describeMachine, loadNow } from './lib/machine.mjs';
import { writePage } from './lib/service-page.mjs';
import { Stage } from './lib/service-stage.mjs';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    cases: { type: 'string' },
    json: { type: 'string' },
    docs: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

const files = await readdir(new URL('service/', import.meta.url));
const known = files.map((file) => file.replace(/\.mjs$/, '')).sort();
const wanted = options.cases?.split(',') ?? known;
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  throw new Error(`There is no case ${unknown.join(', ')}; there are ${known.join(', ')}.`);
}

ensurePackages();
const machine = describeMachine();
const results = [];
for (const name of wanted) {
  const { title, about, measure } = await import(`./service/${name}.mjs`);
  const stage = new Stage(options.quick);
  const began = performance.now();
  try {
    const rows = await measure(stage);
    results.push({ name, title, about, rows });
    console.log(`\n${title} (${seconds(began)} s, load ${loadNow()})`);
    console.table(rows);
  } catch (error) {
    process.exitCode = 1; // the other cases are not to be lost by that
    console.error(`\n${title} could not be measured: ${error.stack}`);
  } finally {
    await stage.end();
  }
}
const report = { quick: options.quick, machine: { ...machine, loadAfter: loadNow() }, results };
if (options.json) await writeFile(resolve(options.json), `${JSON.stringify(report, null, 2)}\n`);
const isWhole = !options.quick && options.cases === undefined && process.exitCode !== 1;
if (options.docs && isWhole) console.log(`The page: ${await writePage(report)}`);

function seconds(since) {
  return ((performance.now() - since) / 1e3).toFixed(1);
}
