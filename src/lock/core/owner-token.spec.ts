import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newProcessId, newToken, parseToken } from './owner-token.js';

describe('an owner token', () => {
  it('tells the process and the label of its owner, whatever the label', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (label) => {
        const owner = { process: newProcessId(), label };
        const token = newToken(owner);
        expect(parseToken(token)).toEqual(owner);
        expect(token).not.toMatch(/[\s{}]/);
      }),
    );
  });

  it('is never the same twice', () => {
    const owner = { process: newProcessId(), label: 'a' };
    expect(new Set(Array.from({ length: 1_000 }, () => newToken(owner))).size).toBe(1_000);
  });

  it.each(['', 'worker_A', '0b0e7f1c-6f6e-4f6b-8f3c-9a4c8e1f2d3b', '1', 'a.b.c', 'x'.repeat(40)])(
    'a foreign value is recognised: "%s"',
    (value) => expect(parseToken(value)).toBeNull(),
  );
});
