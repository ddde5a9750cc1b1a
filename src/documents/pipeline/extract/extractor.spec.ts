import { describe, expect, it } from '@jest/globals';
import { Extractor } from './index.js';

describe('Extractor', () => {
  it('chooses the reader by the media type and starts no thread for text', async () => {
    const extractor = new Extractor();
    const bytes = Buffer.from('# Title');
    for (const type of ['text/plain', 'text/markdown']) {
      expect(await extractor.extract(bytes, type)).toEqual({
        pages: [{ page: null, text: '# Title' }],
      });
    }
    await expect(extractor.extract(bytes, 'application/pdf')).rejects.toMatchObject({
      code: 'unreadable_document',
    });
    await expect(extractor.extract(bytes, 'image/png')).rejects.toThrow(TypeError);
    await extractor.close();
  });

  it.each([{ threads: 0 }, { maxPages: 1.5 }, { pageTimeoutMs: Number.NaN }])(
    'refuses the option %j',
    (options) => {
      expect(() => new Extractor(options)).toThrow(RangeError);
    },
  );
});
