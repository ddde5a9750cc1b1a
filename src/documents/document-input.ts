import { createHash } from 'node:crypto';
import { withoutNul } from '../database/index.js';

/** A document as it comes in. NUL characters are stripped from the title. */
export interface DocumentInput {
  readonly title: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Waiting for a run, with no trace of an earlier one. */
export const notRunning = {
  state: 'uploaded',
  stage: null,
  stage_done: null,
  stage_total: null,
  error_code: null,
  error_message: null,
};

/** The columns that a new or changed content sets, with nothing of an earlier one left. Costs a hash of the bytes. */
export function freshColumns(input: DocumentInput, now: number) {
  return {
    title: withoutNul(input.title),
    media_type: input.mediaType,
    size_bytes: input.bytes.byteLength,
    sha256: createHash('sha256').update(input.bytes).digest('hex'),
    ...notRunning,
    pages: null,
    chunks: null,
    generation: null,
    processed_hash: null,
    embedding_model: null,
    deleted: 0,
    updated_at: now,
    processed_at: null,
    replica: null,
  };
}
