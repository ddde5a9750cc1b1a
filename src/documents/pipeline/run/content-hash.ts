import { createHash } from 'node:crypto';
import { type ExtractedPage } from '../extract/index.js';

/** What besides the text decides what the passages and vectors are. */
export interface HashSettings {
  readonly mediaType: string;
  readonly chunkSize: number;
  readonly chunkOverlap: number;
  readonly model: string;
}

/** Equal exactly if processing would give the same passages and vectors again. */
export function contentHash(pages: readonly ExtractedPage[], settings: HashSettings): string {
  const { mediaType, chunkSize, chunkOverlap, model } = settings;
  const hash = createHash('sha256');
  hash.update(JSON.stringify([1, mediaType, chunkSize, chunkOverlap, model]));
  for (const { page, text } of pages) hash.update(JSON.stringify([page, text]));
  return hash.digest('hex');
}
