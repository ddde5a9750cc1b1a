import { afterAll, describe, expect, it } from '@jest/globals';
import { chunkPages } from '../../src/documents/pipeline/chunk/index.js';
import { Extractor } from '../../src/documents/pipeline/extract/index.js';
import { manual } from '../support/manual.mjs';

const extractor = new Extractor();
afterAll(() => extractor.close());

describe('the manual of 480 pages', () => {
  it('is read page by page, off the main thread, with rising progress', async () => {
    const { bytes, pages: expected } = await manual();
    const done: number[] = [];
    const before = performance.eventLoopUtilization();
    const { pages } = await extractor.extract(bytes, 'application/pdf', {
      onProgress: (count, total) => {
        done.push(count);
        if (total !== expected) throw new Error(`${total} pages in all`);
      },
    });
    const { utilization } = performance.eventLoopUtilization(before);
    expect(pages.map(({ page }) => page)).toEqual(
      Array.from({ length: expected }, (_, i) => i + 1),
    );
    expect(done).toEqual(Array.from({ length: expected + 1 }, (_, i) => i));
    // On the main thread it would be next to 1; the messages alone take a few hundredths.
    expect(utilization).toBeLessThan(0.6);
  }, 240_000);

  it('becomes passages that all know their page', async () => {
    const { bytes, pages: expected } = await manual();
    const { pages } = await extractor.extract(bytes, 'application/pdf');
    const chunks = await chunkPages(pages);
    expect(chunks.length).toBeGreaterThan(expected);
    const wrong = chunks.filter(({ page, text }) => !pages[(page ?? 0) - 1]?.text.includes(text));
    expect(wrong).toEqual([]);
    expect(chunks.filter(({ text }) => /\0|\ufffe|\r/.test(text))).toEqual([]);
  }, 240_000);

  it('stops in the middle when told to', async () => {
    const { bytes } = await manual();
    const stop = new AbortController();
    const lost = new Error('the lock is lost');
    let last = 0;
    const onProgress = (done: number) => {
      last = done;
      if (done === 10) stop.abort(lost);
    };
    const call = extractor.extract(bytes, 'application/pdf', { signal: stop.signal, onProgress });
    await expect(call).rejects.toBe(lost);
    expect(last).toBe(10);
  }, 240_000);
});
