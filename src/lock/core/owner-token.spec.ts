import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newProcessId, parseToken, tokensOf } from './owner-token.js';

describe('an owner token', () => {
  it('tells the process and the label of its owner, whatever the label', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (label) => {
        const owner = { process: newProcessId(), label };
        const token = tokensOf(owner)();
        expect(parseToken(token)).toEqual(owner);
        expect(token).not.toMatch(/[\s{}]/);
      }),
    );
  });

  it('is never the same twice', () => {
    const owner = { process: newProcessId(), label: 'a' };
    const [one, other] = [tokensOf(owner), tokensOf(owner)];
    const tokens = Array.from({ length: 1_000 }, () => [one(), other()]).flat();
    expect(new Set(tokens).size).toBe(2_000);
    expect(new Set(tokens.map((token) => token.length)).size).toBe(1);
  });

  it.each(['', 'worker_A', '0b0e7f1c-6f6e-4f6b-8f3c-9a4c8e1f2d3b', '1', 'a.b.c', 'x'.repeat(40)])(
    'a foreign value is recognised: "%s"',
    (value) => expect(parseToken(value)).toBeNull(),
  );
});
