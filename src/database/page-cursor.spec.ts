import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { decodeCursor, encodeCursor, InvalidCursorError } from './page-cursor.js';

describe('the cursor of a list', () => {
  it('gives back every place, in characters that a URL keeps', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 4_102_444_800_000 }),
        fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/),
        (createdAt, id) => {
          const cursor = encodeCursor({ createdAt, id });
          expect(cursor).toMatch(/^[\w-]+$/);
          expect(decodeCursor(cursor)).toEqual({ createdAt, id });
        },
      ),
    );
  });

  it.each([
    '',
    'x',
    '!!',
    encodeCursor({ createdAt: -1, id: 'a' }),
    encodeCursor({ createdAt: 1, id: 'a b' }),
  ])('refuses %j', (cursor) => {
    expect(() => decodeCursor(cursor)).toThrow(InvalidCursorError);
  });
});
