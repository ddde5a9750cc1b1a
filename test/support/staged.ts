import { createHash, randomUUID } from 'node:crypto';
import { type StagedContent } from '../../src/documents/contents/content.js';

/** A small content, as it is after it has come in. */
export function staged(bytes: Uint8Array | string): StagedContent {
  const lastPiece = Buffer.from(bytes);
  const sha256 = createHash('sha256').update(lastPiece).digest('hex');
  return { id: randomUUID(), sizeBytes: lastPiece.length, sha256, storedPieces: 0, lastPiece };
}
