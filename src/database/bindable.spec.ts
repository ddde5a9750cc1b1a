import { describe, expect, it } from '@jest/globals';
import { bindable, withoutNul } from './bindable.js';
import { DatabaseValueError } from './database.errors.js';

describe('bindable', () => {
  it('keeps text, bytes, null, fractions and 64-bit integers', () => {
    const bytes = Buffer.from([1, 0, 2]);
    expect(bindable(['é😀', bytes, null, 1.5, 2n ** 63n - 1n, -(2n ** 63n)])).toEqual([
      'é😀',
      bytes,
      null,
      1.5,
      2n ** 63n - 1n,
      -(2n ** 63n),
    ]);
  });

  it('makes whole numbers bigint and other bytes Buffers over the same memory', () => {
    const memory = new Uint8Array([9, 8, 7, 6]);
    const [whole, view] = bindable([42, memory.subarray(1, 3)]);
    expect(whole).toBe(42n);
    expect(view).toEqual(Buffer.from([8, 7]));
    memory[1] = 5;
    expect(view).toEqual(Buffer.from([5, 7]));
  });

  it.each([
    ['a boolean', true],
    ['undefined', undefined],
    ['a date', new Date(0)],
    ['an object', { a: 1 }],
    ['an array', [1]],
    ['a float array', new Float32Array(2)],
    ['a bare ArrayBuffer', new ArrayBuffer(2)],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['a text with NUL', 'a\0b'],
    ['65 bits', 2n ** 63n],
    ['-65 bits', -(2n ** 63n) - 1n],
    ['a symbol', Symbol('x')],
    ['a function', () => 1],
  ])('refuses %s and names the parameter', (_, value) => {
    expect(() => bindable(['fine', value])).toThrow(DatabaseValueError);
    expect(() => bindable(['fine', value])).toThrow(/Parameter 2/);
  });
});

describe('withoutNul', () => {
  it('strips every NUL and nothing else', () => {
    expect(withoutNul('\0a\0\0b\n\t\0')).toBe('ab\n\t');
  });
});
