import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ChunkOptionsError, chunkPages } from './index.js';

const one = (text: string) => [{ page: null, text }];

/** Prose, Unicode beyond the basic plane, long unbroken runs, Markdown marks and white space. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.constantFrom(
        '\n\n',
        '\n',
        ' ',
        '\t',
        '\n# ',
        '\n## ',
        '```\n\n',
        '\n\n---\n\n',
        '😀',
        '👩‍👩‍👧‍👦',
      ),
      fc.constantFrom('x', '😀', ' ', '\n').chain((c) => fc.nat(300).map((n) => c.repeat(n))),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

const anyOptions = fc.integer({ min: 2, max: 120 }).chain((size) =>
  fc.record({
    size: fc.constant(size),
    overlap: fc.nat(size - 1),
    mediaType: fc.constantFrom('text/plain', 'text/markdown', 'application/pdf'),
  }),
);

/**
 * What of the text no chunk holds: '' when all is there, white space between chunks apart. A chunk
 * stands at the last place that leaves no hole, since the text may repeat itself.
 */
function missing(text: string, chunks: readonly { text: string }[]): string {
  let covered = 0;
  for (const chunk of chunks) {
    const next = covered + text.slice(covered).search(/\S/);
    const at = text.lastIndexOf(chunk.text, next);
    if (at === -1) return text.slice(next, next + 80);
    covered = Math.max(covered, at + chunk.text.length);
  }
  return text.slice(covered).trim().slice(0, 80);
}

const wellFormed = (text: string) => !/\p{Surrogate}/u.test(text);

describe('cutting pages into passages', () => {
  it('gives bounded, unbroken passages for every text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { maxLength: 4 }), anyOptions, async (texts, options) => {
        const pages = texts.map((text, i) => ({ page: i + 1, text }));
        const chunks = await chunkPages(pages, options);
        expect(chunks.map(({ seq }) => seq)).toEqual(chunks.map((_, i) => i));
        const numbers = chunks.map(({ page }) => page ?? 0);
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        const bad = chunks.filter(
          ({ page, text }) =>
            text.trim() === '' ||
            text.length > options.size ||
            !wellFormed(text) ||
            !texts[(page ?? 0) - 1]?.includes(text),
        );
        expect(bad).toEqual([]);
        expect(await chunkPages(pages, options)).toEqual(chunks);
      }),
      { numRuns: 300 },
    );
  });

  it('leaves nothing out, whatever the text', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyOptions, async (text, options) => {
        const exact = await chunkPages(one(text), { ...options, overlap: 0 });
        expect(
          exact
            .map((chunk) => chunk.text)
            .join('')
            .replace(/\s/g, ''),
        ).toBe(text.replace(/\s/g, ''));
        expect(missing(text, await chunkPages(one(text), options))).toBe('');
      }),
      { numRuns: 300 },
    );
  });

  it('repeats the end of a passage at the beginning of the next', async () => {
    const words = Array.from({ length: 200 }, (_, i) => `w${i}`).join(' ');
    const chunks = await chunkPages(one(words), { size: 100, overlap: 30 });
    expect(chunks.length).toBeGreaterThan(5);
    const repeated = chunks
      .slice(1)
      .map(({ text }, i) => chunks[i]!.text.includes(text.split(' ', 1)[0]!));
    expect(repeated).not.toContain(false);
  });

  it('cuts Markdown at its headings, the first level included', async () => {
    const text = '# Locks\nOne holder.\n# Fences\nThey rise.';
    const chunks = await chunkPages(one(text), {
      size: 25,
      overlap: 0,
      mediaType: 'text/markdown',
    });
    expect(chunks.map((chunk) => chunk.text)).toEqual([
      '# Locks\nOne holder.',
      '# Fences\nThey rise.',
    ]);
  });

  it('makes no passage of blank pages, and keeps the numbers of the others', async () => {
    const texts = ['', 'two', ' \n ', 'four'];
    const chunks = await chunkPages(texts.map((text, i) => ({ page: i + 1, text })));
    expect(chunks).toEqual([
      { seq: 0, page: 2, text: 'two' },
      { seq: 1, page: 4, text: 'four' },
    ]);
    expect(await chunkPages([])).toEqual([]);
  });

  it.each([
    [{ size: 50, overlap: 50 }, 'less than the chunk size'],
    [{ size: 50, overlap: 60 }, 'less than the chunk size'],
    [{ size: 50, overlap: -1 }, 'overlap is -1'],
    [{ size: 1, overlap: 0 }, 'size is 1'],
    [{ size: 10_001, overlap: 0 }, 'size is 10001'],
    [{ size: Number.NaN, overlap: 0 }, 'size is NaN'],
    [{ size: 20.5, overlap: 0 }, 'size is 20.5'],
    [{ size: 40 }, 'overlap is 50'],
  ])('refuses the options %j', async (options, message) => {
    const refused = chunkPages(one('text'), options);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(ChunkOptionsError);
  });

  it('reports progress page by page', async () => {
    const seen: number[] = [];
    const pages = [1, 2, 3].map((page) => ({ page, text: `page ${page}` }));
    await chunkPages(pages, {}, { onProgress: (done, total) => seen.push(done / total) });
    expect(seen).toEqual([1 / 3, 2 / 3, 1]);
  });
});

describe('cutting a very long text', () => {
  const paragraphs = Array.from(
    { length: 3_000 },
    (_, i) =>
      `Paragraph ${i}: ${Array.from({ length: i % 40 }, (_x, j) => `lock${i}x${j}`).join(' ')}.`,
  );

  it.each([
    ['paragraphs', paragraphs.join('\n\n')],
    ['lines', paragraphs.join('\n')],
    ['words', paragraphs.join(' ')],
    ['one run of letters', 'x'.repeat(300_000)],
    ['one run of surrogate pairs', `a${'😀'.repeat(100_000)}`],
  ])('leaves nothing out of %s and splits no pair', async (_kind, text) => {
    const chunks = await chunkPages(one(text), { size: 500, overlap: 50 });
    expect(missing(text, chunks)).toBe('');
    expect(chunks.every((chunk) => chunk.text.length <= 500 && wellFormed(chunk.text))).toBe(true);
  });

  it('lets the main loop run, and stops when it is told to', async () => {
    const stop = new AbortController();
    const lost = new Error('the lock is lost');
    setImmediate(() => setImmediate(() => stop.abort(lost)));
    const endless = one(paragraphs.join(' ').repeat(8));
    await expect(chunkPages(endless, {}, { signal: stop.signal })).rejects.toBe(lost);
  });
});
