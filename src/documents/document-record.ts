import { type DocumentRow } from '../database/index.js';

/** What a document's row says; a `processing` whose worker died looks alike (see the lock). */
export type DocumentState = 'uploaded' | 'processing' | 'ready' | 'failed';

/** The steps of processing, in their order. */
export const STAGES = ['extract', 'chunk', 'embed', 'store', 'publish'] as const;

/** A step of processing. */
export type Stage = (typeof STAGES)[number];

/** A document without its bytes. Times are ms since the epoch. */
export interface DocumentRecord {
  readonly id: string;
  readonly title: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** Of the bytes, in lower-case hex. */
  readonly sha256: string;
  readonly state: DocumentState;
  /** The stage that runs or, with `failed`, that did not finish. */
  readonly stage: Stage | null;
  readonly stageDone: number | null;
  /** null while not known. */
  readonly stageTotal: number | null;
  /** Of the published generation. */
  readonly pages: number | null;
  /** Of the published generation. */
  readonly chunks: number | null;
  /** Of the last writer; 0 for a document that was posted and that no lock holder has written yet. */
  readonly fence: bigint;
  /** The published generation of passages, or null while nothing is searchable. */
  readonly generation: bigint | null;
  /** What the published generation was made from, as the pipeline hashes it. */
  readonly processedHash: string | null;
  /** The model that embedded the published generation; null where nobody noted it. */
  readonly embeddingModel: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly processedAt: number | null;
  /** The instance that ran or runs the processing. */
  readonly replica: string | null;
}

function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

function oneOf<T extends string>(known: readonly T[], value: string, column: string): T {
  const found = known.find((each) => each === value);
  if (found === undefined) throw new Error(`Column ${column} holds the unknown value "${value}".`);
  return found;
}

/** What a row can say. */
export const STATES: readonly DocumentState[] = ['uploaded', 'processing', 'ready', 'failed'];

/** A row as the rest of the service sees it. @throws when a newer version has written unknown words */
export function toRecord(row: DocumentRow): DocumentRecord {
  return {
    id: row.id,
    title: row.title,
    mediaType: row.media_type,
    sizeBytes: Number(row.size_bytes),
    sha256: row.sha256,
    state: oneOf(STATES, row.state, 'documents.state'),
    stage: row.stage === null ? null : oneOf(STAGES, row.stage, 'documents.stage'),
    stageDone: numberOrNull(row.stage_done),
    stageTotal: numberOrNull(row.stage_total),
    pages: numberOrNull(row.pages),
    chunks: numberOrNull(row.chunks),
    fence: row.fence,
    generation: row.generation,
    processedHash: row.processed_hash,
    embeddingModel: row.embedding_model,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    processedAt: numberOrNull(row.processed_at),
    replica: row.replica,
  };
}
