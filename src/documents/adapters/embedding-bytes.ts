const FLOAT_BYTES = 4;

/** The vector as float32, little endian on every machine. */
export function embeddingBytes(embedding: Float32Array): Buffer {
  const bytes = Buffer.alloc(embedding.length * FLOAT_BYTES);
  embedding.forEach((value, index) => bytes.writeFloatLE(value, index * FLOAT_BYTES));
  return bytes;
}

/** The length of the vector that was stored as `bytes`. */
export function dimensionsOf(bytes: Buffer): number {
  return bytes.length / FLOAT_BYTES;
}

/**
 * The dot product of a stored vector and `query`: the cosine where both are of unit length.
 * They must be equally long.
 */
export function dotProduct(stored: Buffer, query: Float32Array): number {
  const view = new DataView(stored.buffer, stored.byteOffset, stored.byteLength);
  let sum = 0;
  for (let index = 0; index < query.length; index += 1) {
    sum += view.getFloat32(index * FLOAT_BYTES, true) * (query[index] ?? 0);
  }
  return sum;
}

const UNIT_TOLERANCE = 1e-3;

/** @throws RangeError unless the vector is of unit length (which also rules out NaN and emptiness) */
export function assertUnitLength(embedding: Float32Array, what: string): void {
  const norm = Math.sqrt(embedding.reduce((sum, value) => sum + value * value, 0));
  if (!(Math.abs(norm - 1) <= UNIT_TOLERANCE)) {
    throw new RangeError(
      `${what} must be a vector of length 1, not of ${norm}. Normalise it first.`,
    );
  }
}
