import { type ColumnType, type Selectable } from 'kysely';

/**
 * A whole number of up to 64 bits. Every integer is read as bigint, on both databases and whatever
 * the column's width, so that no fence can lose digits; whoever wants a number converts it.
 */
export type Integer = ColumnType<bigint, bigint | number, bigint | number>;

/** An Integer that may be null. */
type NullableInteger = ColumnType<
  bigint | null,
  bigint | number | null | undefined,
  bigint | number | null
>;

/** Bytes: read as Buffer, written as Buffer or Uint8Array. */
type Bytes = ColumnType<Buffer, Uint8Array, Uint8Array>;

type NullableText = ColumnType<string | null, string | null | undefined, string | null>;

/** One row per document id that was ever written; a deleted document leaves its row as a tombstone. */
export interface DocumentsTable {
  id: string;
  title: string;
  media_type: string;
  size_bytes: Integer;
  sha256: string;
  /** Of its pieces; null in a tombstone. */
  content_id: NullableText;
  state: string;
  stage: NullableText;
  stage_done: NullableInteger;
  stage_total: NullableInteger;
  pages: NullableInteger;
  chunks: NullableInteger;
  /** Of the last writer; no write under a lower one is taken. */
  fence: Integer;
  /** The published generation of passages: the fence of the run that published it. */
  generation: NullableInteger;
  processed_hash: NullableText;
  /** Of the published generation; null where nobody noted it. */
  embedding_model: NullableText;
  error_code: NullableText;
  error_message: NullableText;
  /** 1: tombstone. */
  deleted: Integer;
  /** Times are ms since the epoch. */
  created_at: Integer;
  updated_at: Integer;
  processed_at: NullableInteger;
  replica: NullableText;
  /** When passages may have been left behind that nobody reads; null once they were looked for. */
  sweep_at: NullableInteger;
}

/** The bytes of documents as they were uploaded, cut into pieces; `seq` counts from 0. */
interface ContentPiecesTable {
  content_id: string;
  seq: Integer;
  bytes: Bytes;
}

/** Contents of which a piece is stored and that no document has yet; by the database's clock. */
interface UploadsTable {
  id: string;
  begun_at: Integer;
}

/** The passages of every generation; readers see the published one only. */
interface PassagesTable {
  document_id: string;
  generation: Integer;
  seq: Integer;
  page: NullableInteger;
  text: string;
  /** float32, little endian. */
  embedding: Bytes;
}

/** A document that is to be processed: one row from the asking to the end of the run. */
export interface DocumentQueueTable {
  document_id: string;
  /** The order: lower ones come first. */
  ticket: Integer;
  /** The process that works on it or, not under way yet, the only one that may; null: anybody may. */
  owner: NullableText;
  /** 1: taken to be worked on. */
  under_way: Integer;
  /** 1: a client was told that it will be done; 0: somebody waits for the answer. */
  accepted: Integer;
  /** How often it was taken without coming to an end. */
  attempts: Integer;
  /** Until then nobody but the owner may take it, in ms of the database's clock. */
  held_until: Integer;
}

/** A question about a document with what was answered; never changed, until it is archived. */
export interface ConversationsTable {
  id: string;
  document_id: string;
  question: string;
  /** The passages that answered it, as JSON. */
  passages: string;
  /** What a language model made of them, as JSON; null where none is set up. */
  answer: string | null;
  created_at: Integer;
  replica: string;
}

/** Conversations that were moved out of their table, compressed, in the order they were had. */
export interface ArchivesTable {
  id: string;
  /** Of the run that wrote it. */
  fence: Integer;
  conversations: Integer;
  oldest_at: Integer;
  newest_at: Integer;
  /** The length and the SHA-256, in hex, of the JSON lines before compression. */
  size_bytes: Integer;
  sha256: string;
  /** The JSON lines, one conversation a line, as gzip. */
  gzip: Bytes;
  created_at: Integer;
  replica: string;
}

/** The fence of the last writer under a lock whose work has no row of its own to guard. */
export interface WriterFencesTable {
  name: string;
  fence: Integer;
}

/** The high-water mark of a scheduled job. */
export interface TickMarksTable {
  job: string;
  /** The latest instant that is done; null while none is. */
  tick_ms: NullableInteger;
  fence: Integer;
}

/** What became of the ticks of scheduled jobs, and of runs by hand. */
export interface TicksTable {
  id: string;
  job: string;
  /** null for a run by hand. */
  scheduled_at: NullableInteger;
  /** `running` until it ends. */
  outcome: string;
  replica: string;
  /** null where the lock was not taken. */
  fence: NullableInteger;
  started_at: Integer;
  duration_ms: NullableInteger;
  /** What went wrong, for people. */
  detail: NullableText;
  /** From then on the row may be removed. */
  expires_at: Integer;
}

/** What is known of an idempotency key. */
interface IdempotencyRecordsTable {
  id: string;
  /** Of the request that came with the key first. */
  fingerprint: string;
  /** Of the mark it was begun under. */
  fence: Integer;
  /** The answer's; null until it is finished. */
  status: NullableInteger;
  /** JSON. */
  headers: NullableText;
  /** JSON; null for none. */
  body: NullableText;
  expires_at: Integer;
}

/** The typed schema, the same on SQLite and PostgreSQL. */
export interface Schema {
  documents: DocumentsTable;
  content_pieces: ContentPiecesTable;
  uploads: UploadsTable;
  passages: PassagesTable;
  document_queue: DocumentQueueTable;
  conversations: ConversationsTable;
  archives: ArchivesTable;
  writer_fences: WriterFencesTable;
  tick_marks: TickMarksTable;
  ticks: TicksTable;
  idempotency_records: IdempotencyRecordsTable;
}

/** A row of `documents` as it is read. */
export type DocumentRow = Selectable<DocumentsTable>;

/** A row of `conversations` as it is read. */
export type ConversationRow = Selectable<ConversationsTable>;

/** A row of `ticks` as it is read. */
export type TickRow = Selectable<TicksTable>;

/** A row of `idempotency_records` as it is read. */
export type IdempotencyRecordRow = Selectable<IdempotencyRecordsTable>;
