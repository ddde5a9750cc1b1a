import { describe, expect, it } from '@jest/globals';
import { extractText } from './decode-text.js';

describe('extracting text', () => {
  const text = (value: string | Buffer) => extractText(Buffer.from(value));

  it('is one page without a number, without byte order mark and NUL, with plain line ends', async () => {
    expect(await text('\ufeffa\0b\r\nc\rd\n')).toEqual({
      pages: [{ page: null, text: 'ab\nc\nd\n' }],
    });
    expect(await text('')).toEqual({ pages: [{ page: null, text: '' }] });
  });

  it.each([
    ['Latin-1', Buffer.from('caf\xe9 au lait', 'latin1')],
    ['UTF-16', Buffer.from('\ufeffhello', 'utf16le')],
    ['a character that is cut off', Buffer.from('naïve €').subarray(0, -1)],
  ])('refuses %s', async (_name, bytes) => {
    await expect(text(bytes)).rejects.toMatchObject({
      code: 'unreadable_document',
      reason: 'not-text',
    });
  });

  it('is the same wherever the slices of a long text fall', async () => {
    for (const shift of [0, 1, 2, 3]) {
      const long = 'x'.repeat(256 * 1024 - shift) + '€😀\r\n' + 'y'.repeat(256 * 1024);
      const { pages } = await text(long);
      expect(pages[0]?.text === long.replace('\r\n', '\n')).toBe(true);
    }
  });
});
