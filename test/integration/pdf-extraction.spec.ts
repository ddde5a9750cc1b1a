import { deflateSync } from 'node:zlib';
import { afterAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { PdfExtractor } from '../../src/documents/pipeline/extract/pdf-extractor.js';
import { makePdf, rawPdf, truncate } from '../support/pdf.js';
import { Extractor, UnreadableDocumentError } from '../../src/documents/pipeline/extract/index.js';

const extractor = new Extractor();
afterAll(() => extractor.close());

const pdf = 'application/pdf';

async function refusalOf(bytes: Uint8Array, by = extractor): Promise<UnreadableDocumentError> {
  const error: unknown = await by.extract(bytes, pdf).catch((reason: unknown) => reason);
  if (error instanceof UnreadableDocumentError) return error;
  throw new Error('The document was not refused as unreadable.', { cause: error });
}

describe('extracting a PDF', () => {
  it('gives every page in order, with its number, and a blank or picture page as empty text', async () => {
    const bytes = await makePdf(['first page', { blank: true }, { image: true }, 'fourth page']);
    const { pages } = await extractor.extract(bytes, pdf);
    expect(pages.map(({ page, text }) => [page, text.trim()])).toEqual([
      [1, 'first page'],
      [2, ''],
      [3, ''],
      [4, 'fourth page'],
    ]);
  });

  it('leaves the bytes of the caller usable', async () => {
    const bytes = new Uint8Array(await makePdf(['twice']));
    const first = await extractor.extract(bytes, pdf);
    expect(bytes.length).toBeGreaterThan(0);
    expect(await extractor.extract(bytes, pdf)).toEqual(first);
  });

  it('reports progress from 0 to the number of pages, never backwards', async () => {
    const bytes = await makePdf(Array.from({ length: 20 }, (_, i) => `page ${i}`));
    const seen: [number, number][] = [];
    await extractor.extract(bytes, pdf, { onProgress: (done, total) => seen.push([done, total]) });
    expect(seen).toEqual(Array.from({ length: 21 }, (_, done) => [done, 20]));
  });

  it('ends with the error that a progress callback throws, and reads the next document', async () => {
    const bytes = await makePdf(['one', 'two']);
    const onProgress = () => {
      throw new Error('row is stale');
    };
    await expect(extractor.extract(bytes, pdf, { onProgress })).rejects.toThrow('row is stale');
    expect((await extractor.extract(bytes, pdf)).pages).toHaveLength(2);
  });

  it('refuses a PDF that needs a password', async () => {
    const error = await refusalOf(await makePdf(['secret'], { password: 'open sesame' }));
    expect(error).toMatchObject({ code: 'unreadable_document', reason: 'encrypted' });
  });

  it.each([0.99, 0.6, 0.2])('refuses a PDF of which only the first %d arrived', async (keep) => {
    const whole = await makePdf(Array.from({ length: 5 }, (_, i) => `page ${i}`));
    expect(await refusalOf(truncate(whole, keep))).toMatchObject({ reason: 'broken' });
  });

  it('refuses what only pretends to be a PDF', async () => {
    const error = await refusalOf(Buffer.from(`%PDF-1.7\n${'junk '.repeat(500)}\n%%EOF`));
    expect(error).toMatchObject({ reason: 'broken' });
    expect(await refusalOf(new Uint8Array(0))).toMatchObject({ reason: 'broken' });
  });
});

describe('bounds of a PDF', () => {
  it('refuses too many pages, however small the file', async () => {
    const small = new Extractor({ maxPages: 1_000 });
    const bomb = rawPdf(Buffer.from(''), undefined, 1_001);
    const error = await refusalOf(bomb, small);
    await small.close();
    expect(error).toMatchObject({ reason: 'too-large' });
    expect(error.message).toContain('1001 pages; at most 1000');
  });

  it('refuses too much text', async () => {
    const small = new Extractor({ maxTextChars: 1_000 });
    const error = await refusalOf(await makePdf(['word '.repeat(400)]), small);
    await small.close();
    expect(error).toMatchObject({ reason: 'too-large' });
  });

  it('refuses a small file that wants a lot of memory, and reads the next document', async () => {
    const small = new Extractor({ maxMemoryMb: 48 });
    const bomb = rawPdf(deflateSync(Buffer.alloc(200 * 2 ** 20, 'q ')), '/FlateDecode');
    const error = await refusalOf(bomb, small);
    const next = await small.extract(await makePdf(['still here']), pdf);
    await small.close();
    expect(bomb.length).toBeLessThan(2 ** 20);
    expect(error).toMatchObject({ reason: 'too-large' });
    expect(error.message).toContain('48 MB');
    expect(next.pages[0]?.text).toContain('still here');
  });

  it('refuses a page that takes too long, and reads the next document', async () => {
    const hasty = new Extractor({ pageTimeoutMs: 2_000 });
    const nothing = Buffer.alloc(150 * 2 ** 20, 'q 1 0 0 1 0 0 cm Q\n');
    const slow = rawPdf(deflateSync(nothing), '/FlateDecode');
    const error = await refusalOf(slow, hasty);
    const next = await hasty.extract(await makePdf(['quick']), pdf);
    await hasty.close();
    expect(error).toMatchObject({ reason: 'too-slow' });
    expect(error.message).toContain('page 1 took longer than 2000 ms');
    expect(next.pages).toHaveLength(1);
  });
});

describe('ending an extraction', () => {
  it('rejects with the reason of the signal, before it begins, in the middle, and while waiting', async () => {
    const one = new Extractor({ threads: 1 });
    const bytes = await makePdf(
      Array.from({ length: 300 }, (_, i) => `page ${i} ${'x '.repeat(500)}`),
    );
    const lost = new Error('the lock is lost');
    await expect(one.extract(bytes, pdf, { signal: AbortSignal.abort(lost) })).rejects.toBe(lost);

    const running = new AbortController();
    const waiting = new AbortController();
    let reached = 0;
    const first = one.extract(bytes, pdf, {
      signal: running.signal,
      onProgress: (done) => {
        reached = done;
        if (done === 2) running.abort(lost);
      },
    });
    const second = one.extract(bytes, pdf, { signal: waiting.signal });
    const third = one.extract(await makePdf(['third']), pdf);
    waiting.abort(lost);
    await expect(second).rejects.toBe(lost);
    await expect(first).rejects.toBe(lost);
    expect(reached).toBe(2);
    expect((await third).pages).toHaveLength(1);
    await one.close();
  });

  it('rejects what is under way, and what comes later, when it is closed', async () => {
    const closing = new Extractor();
    const bytes = await makePdf(['x', 'y']);
    const running = closing.extract(bytes, pdf);
    const outcome = running.catch((error: unknown) => error);
    await closing.close();
    expect(await outcome).toMatchObject({ code: 'thread_pool_closed' });
    await closing.close();
    await expect(closing.extract(bytes, pdf)).rejects.toMatchObject({ code: 'thread_pool_closed' });
  });
});

describe('a damaged PDF', () => {
  it('is read or refused, whatever the damage, and never harms the next one', async () => {
    const whole = await makePdf(['first page', 'second page', { image: true }]);
    const damage = fc.array(
      fc.record({
        at: fc.nat(whole.length - 1),
        bytes: fc.uint8Array({ minLength: 1, maxLength: 20 }),
      }),
      { minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(damage, async (places) => {
        const damaged = Buffer.from(whole);
        for (const { at, bytes } of places) damaged.set(bytes.subarray(0, whole.length - at), at);
        const outcome: unknown = await extractor
          .extract(damaged, pdf)
          .catch((error: unknown) => error);
        expect(
          outcome instanceof UnreadableDocumentError || Object.hasOwn(Object(outcome), 'pages'),
        ).toBe(true);
      }),
      { numRuns: 150 },
    );
    expect((await extractor.extract(whole, pdf)).pages).toHaveLength(3);
  });
});

describe('a PDF worker that dies', () => {
  const reader = new PdfExtractor(
    { threads: 1 },
    new URL('../support/dying-pdf.worker.mjs', import.meta.url),
  );
  afterAll(() => reader.close());
  const read = (wish: string) => reader.extract(Buffer.from(`%PDF-1.7 ${wish} %%EOF`));

  it('is an error of the document it was reading, and of no other', async () => {
    const [dead, next] = await Promise.allSettled([read('die after it was ready'), read('live')]);
    expect(dead).toMatchObject({
      reason: { code: 'unreadable_document', reason: 'crashed', cause: expect.any(Error) },
    });
    expect(next).toMatchObject({ value: { pages: [{ page: 1, text: 'alive' }] } });
  });

  it('is not the fault of the document when it could not even start', async () => {
    const unlucky = new PdfExtractor(
      { threads: 1 },
      new URL('../support/exiting.worker.mjs', import.meta.url),
    );
    const error: unknown = await unlucky
      .extract(Buffer.from('x'))
      .catch((reason: unknown) => reason);
    await unlucky.close();
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(UnreadableDocumentError);
  });

  it('never gives a part of the pages for the whole', async () => {
    await expect(read('lose a page')).rejects.toThrow('sent 0 of 1 pages');
  });
});
