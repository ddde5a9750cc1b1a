import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UseEmbedder } from '../../src/documents/adapters/use-embedder.js';
import { chunkPages } from '../../src/documents/pipeline/chunk/index.js';
import { type ExtractedPage } from '../../src/documents/pipeline/extract/extraction.js';
import { Extractor } from '../../src/documents/pipeline/extract/index.js';
import { manual } from '../support/manual.mjs';

const CHUNKS = 200;
const extractor = new Extractor();
const embedder = new UseEmbedder({ workers: 2 });

afterAll(() => Promise.all([extractor.close(), embedder.close()]));

/** The most calls of `step` between two turns of the main loop while something is done. */
async function mostStepsATurn(work: (step: () => void) => Promise<unknown>): Promise<number> {
  let isOver = false;
  let steps = 0;
  let most = 0;
  const counting = (async () => {
    while (!isOver) {
      await turn();
      most = Math.max(most, steps);
      steps = 0;
    }
  })();
  await work(() => (steps += 1)).finally(() => (isOver = true));
  await counting;
  return Math.max(most, steps);
}

describe('the main loop', () => {
  let bytes: Uint8Array;
  let pages: readonly ExtractedPage[];
  let texts: readonly string[];

  const read = (onProgress?: () => void) =>
    extractor.extract(bytes, 'application/pdf', onProgress && { onProgress });

  beforeAll(async () => {
    ({ bytes } = await manual());
    ({ pages } = await read());
    texts = (await chunkPages(pages)).slice(1_000, 1_000 + CHUNKS).map(({ text }) => text);
  }, 240_000);

  it('is left to others while 480 pages are read and 200 passages embedded at once', async () => {
    const before = performance.eventLoopUtilization();
    const [again, vectors] = await Promise.all([read(), embedder.embed(texts)]);
    const { utilization } = performance.eventLoopUtilization(before);
    expect([again.pages.length, vectors.length]).toEqual([480, CHUNKS]);
    // What both do is on threads of their own: on the main thread it would be next to 1.
    expect(utilization).toBeLessThan(0.5);
  }, 240_000);

  it('gets its turn between a few pages or passages, not after all of them', async () => {
    expect(await mostStepsATurn((step) => read(step))).toBeLessThan(pages.length / 4);
    const embedding = mostStepsATurn((step) => embedder.embed(texts, { onProgress: step }));
    expect(await embedding).toBeLessThan(CHUNKS / 4);
    // Cutting is work of the main thread, in pieces of ten milliseconds.
    const cutting = mostStepsATurn((step) => chunkPages(pages, {}, { onProgress: step }));
    expect(await cutting).toBeLessThan(pages.length / 2);
  }, 240_000);
});
