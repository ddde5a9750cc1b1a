/** The largest piece that is stored, in bytes: what one body takes of memory, and one statement of time. */
export const PIECE_BYTES = 256 * 1024;

/** A content that has come in whole and that no document has yet. */
export interface StagedContent {
  readonly id: string;
  readonly sizeBytes: number;
  /** In lower-case hex. */
  readonly sha256: string;
  /** How many pieces are stored already. */
  readonly storedPieces: number;
  /** The last piece, which is stored with the document; empty only if there is nothing else. */
  readonly lastPiece: Uint8Array;
}

/** The bytes of a document, as they were uploaded. */
export interface DocumentContent {
  readonly title: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** Read from the store as they are asked for. Fails where the document is changed meanwhile. */
  readonly pieces: AsyncIterable<Buffer>;
}

/** The content was removed or replaced while it was read. */
export class ContentGoneError extends Error {
  readonly code = 'content_gone';

  constructor() {
    super('The document was changed while it was read. Repeat the request.');
    this.name = 'ContentGoneError';
  }
}

/** The upload took so long that its pieces were taken for abandoned, and removed. */
export class UploadExpiredError extends Error {
  readonly code = 'request_timeout';

  constructor() {
    super('The upload took too long. Send it again, all at once.');
    this.name = 'UploadExpiredError';
  }
}
