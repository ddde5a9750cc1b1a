import { type DocumentRecord, type DocumentState, type Stage } from '../document-record.js';

/** A document as clients see it. Times are ISO 8601; a fence is a decimal string, since JSON numbers lose digits. */
export interface DocumentView {
  readonly id: string;
  readonly title: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** `interrupted`: the worker died or lost its lock; processing the document again takes over. */
  readonly state: DocumentState | 'interrupted';
  /** Where the processing is or stopped; null when there is nothing to tell. */
  readonly progress: {
    readonly stage: Stage;
    readonly done: number;
    /** null while not known. */
    readonly total: number | null;
  } | null;
  /** Of what is searchable; null while nothing is. */
  readonly pages: number | null;
  readonly chunks: number | null;
  readonly fence: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly processedAt: string | null;
  /** Who processes it or did last. */
  readonly replica: string | null;
}

/** The view of a row; whether its worker is gone is for the caller to find out. */
export function toView(record: DocumentRecord, isInterrupted: boolean): DocumentView {
  const { stage, errorCode, processedAt } = record;
  return {
    id: record.id,
    title: record.title,
    mediaType: record.mediaType,
    sizeBytes: record.sizeBytes,
    sha256: record.sha256,
    state: isInterrupted ? 'interrupted' : record.state,
    progress: stage && { stage, done: record.stageDone ?? 0, total: record.stageTotal },
    pages: record.pages,
    chunks: record.chunks,
    fence: String(record.fence),
    error: errorCode === null ? null : { code: errorCode, message: record.errorMessage ?? '' },
    createdAt: iso(record.createdAt),
    updatedAt: iso(record.updatedAt),
    processedAt: processedAt === null ? null : iso(processedAt),
    replica: record.replica,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
