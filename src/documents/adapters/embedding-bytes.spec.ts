import { describe, expect, it } from '@jest/globals';
import { assertUnitLength, dimensionsOf, dotProduct, embeddingBytes } from './embedding-bytes.js';

describe('embedding bytes', () => {
  it('are float32, little endian', () => {
    expect(embeddingBytes(new Float32Array([1, -2]))).toEqual(
      Buffer.from([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]),
    );
  });

  it('are compared where they lie, at any offset', () => {
    const stored = Buffer.concat([Buffer.from([9]), embeddingBytes(new Float32Array([0.6, 0.8]))]);
    expect(dotProduct(stored.subarray(1), new Float32Array([0.8, 0.6]))).toBeCloseTo(0.96, 6);
  });

  it('tell how long the vector is', () => {
    expect(dimensionsOf(embeddingBytes(new Float32Array(3)))).toBe(3);
  });

  it.each([[[0.6, 0.8]], [[1]], [[-1, 0, 0]]])('%j is of unit length', (values) => {
    expect(() => assertUnitLength(new Float32Array(values), 'It')).not.toThrow(RangeError);
  });

  it.each([[[]], [[0, 0]], [[1, 1]], [[Number.NaN]]])('%j is not', (values) => {
    expect(() => assertUnitLength(new Float32Array(values), 'It')).toThrow(RangeError);
  });
});
