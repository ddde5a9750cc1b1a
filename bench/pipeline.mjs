/**
 * How long does the main loop of a replica stand still while the workers are busy? Reads all 480
 * pages of a manual and embeds 200 of its passages at the same time as a second reading runs, on
 * the built pipeline (`npm run build` first). Prints a table and one line of JSON; the exit code is 1
 * when the 99th percentile of the delay reaches 100 ms.
 *
 *   node bench/pipeline.mjs [--workers=N]
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { UseEmbedder } from '../dist/documents/adapters/use-embedder.js';
import { chunkPages } from '../dist/documents/pipeline/chunk/index.js';
import { Extractor } from '../dist/documents/pipeline/extract/index.js';
import { manual } from '../test/support/manual.mjs';

const TARGET_MS = 100;
const CHUNKS = 200;

const { values } = parseArgs({ options: { workers: { type: 'string' } } });
const workers = Number(values.workers ?? Math.min(availableParallelism(), 4));

const { bytes, source } = await manual();
const extractor = new Extractor();
const embedder = new UseEmbedder({ workers });
const stages = [];

/** Runs one stage and notes its wall time, its share of the main loop and the loop's delay. */
async function stage(name, work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const loop = performance.eventLoopUtilization();
  const start = performance.now();
  delay.enable();
  const result = await work();
  delay.disable();
  const ms = (nanoseconds) => Number((nanoseconds / 1e6).toFixed(1));
  stages.push({
    stage: name,
    'wall ms': Math.round(performance.now() - start),
    'p50 ms': ms(delay.percentile(50)),
    'p99 ms': ms(delay.percentile(99)),
    'max ms': ms(delay.max),
    'loop busy %': Math.round(performance.eventLoopUtilization(loop).utilization * 100),
    'rss MB': Math.round(process.memoryUsage.rss() / 1e6),
  });
  return result;
}

const pdf = () => extractor.extract(bytes, 'application/pdf');
const { pages } = await stage('extract 480 pages, cold', pdf);
const chunks = await stage('chunk', () => chunkPages(pages));
const texts = chunks.slice(1_000, 1_000 + CHUNKS).map((chunk) => chunk.text);
await stage(`embed ${texts.length} chunks, cold`, () => embedder.embed(texts));
await stage('both at once', () => Promise.all([pdf(), embedder.embed(texts)]));
await Promise.all([extractor.close(), embedder.close()]);

const worst = Math.max(...stages.map((row) => row['p99 ms']));
const report = {
  source,
  pages: pages.length,
  chunks: chunks.length,
  embedded: texts.length,
  workers,
  node: process.version,
  cores: cpus().length,
  load: loadavg()[0],
  targetP99Ms: TARGET_MS,
  worstP99Ms: worst,
  met: worst < TARGET_MS,
  stages,
};
console.table(stages);
console.log(JSON.stringify(report));
process.exitCode = report.met ? 0 : 1;
