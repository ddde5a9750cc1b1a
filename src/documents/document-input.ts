import { withoutNul } from '../database/index.js';
import { type StagedContent } from './contents/content.js';

/** A document as it comes in. NUL characters are stripped from the title. */
export interface DocumentInput {
  readonly title: string;
  readonly mediaType: string;
  readonly content: StagedContent;
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

/** The columns that a new or changed content sets, with nothing of an earlier one left. */
export function freshColumns(input: DocumentInput, now: number) {
  return {
    title: withoutNul(input.title),
    media_type: input.mediaType,
    size_bytes: input.content.sizeBytes,
    sha256: input.content.sha256,
    content_id: input.content.id,
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
