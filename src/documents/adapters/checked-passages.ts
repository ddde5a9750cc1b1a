import { type Passage } from '../ports/vector-store.js';
import { assertUnitLength } from './embedding-bytes.js';

/**
 * The length that all embeddings share; 0 when there are none.
 * @throws RangeError when they are not of unit length, or not equally long
 */
export function checkedDimensions(passages: readonly Passage[]): number {
  const dimensions = passages[0]?.embedding.length ?? 0;
  for (const { seq, embedding } of passages) {
    assertUnitLength(embedding, `The embedding of passage ${seq}`);
    if (embedding.length !== dimensions) {
      throw new RangeError(
        `Passage ${seq} has ${embedding.length} dimensions, the first one ${dimensions}.`,
      );
    }
  }
  return dimensions;
}
