import { ApiProperty } from '@nestjs/swagger';
import {
  type DocumentRecord,
  type DocumentState,
  STAGES,
  type Stage,
  STATES,
} from '../document-record.js';
import { type QueuePlace } from '../document-queue.js';

/** How far a stage of the processing is. */
export class ProgressView {
  @ApiProperty({ enum: STAGES })
  readonly stage: Stage;
  @ApiProperty()
  readonly done: number;
  /** null while not known. */
  @ApiProperty({ type: Number, nullable: true })
  readonly total: number | null;
}

/** Where a document stands that waits to be processed. */
export class QueueView {
  /** Among those that wait; 1 is the next. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  readonly position: number;
  /** How many come before it, those under way included. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  readonly ahead: number;
}

/** Why the processing failed. */
export class FailureView {
  @ApiProperty()
  readonly code: string;
  @ApiProperty()
  readonly message: string;
}

/** A document as clients see it. Times are ISO 8601; a fence is a decimal string, since JSON numbers lose digits. */
export class DocumentView {
  @ApiProperty()
  readonly id: string;
  @ApiProperty()
  readonly title: string;
  @ApiProperty()
  readonly mediaType: string;
  @ApiProperty({ type: 'integer' })
  readonly sizeBytes: number;
  @ApiProperty()
  readonly sha256: string;
  /**
   * `queued`: it will be processed, and needs nobody to ask again. `interrupted`: the worker died or lost its lock,
   * and nobody was told that it would be done; processing the document again takes over.
   */
  @ApiProperty({ enum: [...STATES, 'queued', 'interrupted'] })
  readonly state: DocumentState | 'queued' | 'interrupted';
  /** Set while it is `queued`. */
  @ApiProperty({ type: QueueView, nullable: true })
  readonly queue: QueueView | null;
  /** Where the processing is or stopped; null when there is nothing to tell. */
  @ApiProperty({ type: ProgressView, nullable: true })
  readonly progress: ProgressView | null;
  /** Of what is searchable; null while nothing is. */
  @ApiProperty({ type: Number, nullable: true })
  readonly pages: number | null;
  @ApiProperty({ type: Number, nullable: true })
  readonly chunks: number | null;
  @ApiProperty({ pattern: '^\\d+$' })
  readonly fence: string;
  @ApiProperty({ type: FailureView, nullable: true })
  readonly error: FailureView | null;
  @ApiProperty({ format: 'date-time' })
  readonly createdAt: string;
  @ApiProperty({ format: 'date-time' })
  readonly updatedAt: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly processedAt: string | null;
  /** Who processes it or did last. */
  @ApiProperty({ type: String, nullable: true })
  readonly replica: string | null;
}

/** Part of the list of documents, as clients see it. */
export class DocumentListView {
  @ApiProperty({ type: [DocumentView] })
  readonly items: readonly DocumentView[];
  /** Gives the next page; null at the end. */
  @ApiProperty({ type: String, nullable: true })
  readonly nextCursor: string | null;
}

/** What a document's row does not say. */
export interface Circumstances {
  /** Whether the row says `processing` and the worker is gone. */
  readonly isInterrupted: boolean;
  /** null: it is not in the queue. */
  readonly place: QueuePlace | null;
}

/** A document's view; what its row does not say is for the caller to find out. */
export function toView(
  record: DocumentRecord,
  { isInterrupted, place }: Circumstances = { isInterrupted: false, place: null },
): DocumentView {
  const { stage, errorCode, processedAt } = record;
  const isAtRest = isInterrupted || record.state !== 'processing';
  const queue = isAtRest && place ? { position: place.position, ahead: place.ahead } : null;
  return {
    id: record.id,
    title: record.title,
    mediaType: record.mediaType,
    sizeBytes: record.sizeBytes,
    sha256: record.sha256,
    state: queue ? 'queued' : isInterrupted ? 'interrupted' : record.state,
    queue,
    progress: queue
      ? null
      : stage && { stage, done: record.stageDone ?? 0, total: record.stageTotal },
    pages: record.pages,
    chunks: record.chunks,
    fence: String(record.fence),
    error:
      queue || errorCode === null ? null : { code: errorCode, message: record.errorMessage ?? '' },
    createdAt: iso(record.createdAt),
    updatedAt: iso(record.updatedAt),
    processedAt: processedAt === null ? null : iso(processedAt),
    replica: record.replica,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
