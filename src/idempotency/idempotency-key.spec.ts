import { describe, expect, it } from '@jest/globals';
import { parseIdempotencyKey } from './idempotency-key.js';
import { IdempotencyKeyInvalidError } from './idempotency.errors.js';

describe('an Idempotency-Key', () => {
  it.each([
    ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['  "a b, c"  ', 'a b, c'],
    [String.raw`"say \"\\\""`, String.raw`say "\"`],
    ['a=b:c/d+e~f.', 'a=b:c/d+e~f.'],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ])('%j is the key %j', (header, key) => {
    expect(parseIdempotencyKey(header)).toBe(key);
  });

  it.each([
    [''],
    ['""'],
    ['"'],
    ['a b'],
    ['"a", "b"'],
    ['a,b'],
    ['"a";v=1'],
    ['"a'],
    [String.raw`"a\b"`],
    ['"ä"'],
    ['"a\tb"'],
    [`"${'x'.repeat(256)}"`],
    ['x'.repeat(256)],
    [['a', 'b']],
  ])('%j is none', (header) => {
    expect(() => parseIdempotencyKey(header)).toThrow(IdempotencyKeyInvalidError);
  });
});
