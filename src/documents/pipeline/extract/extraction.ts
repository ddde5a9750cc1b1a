/** The text of one page; `page` counts from 1 and is null where a document has no pages. */
export interface ExtractedPage {
  readonly page: number | null;
  readonly text: string;
}

/** All pages of a document in order, the blank ones included. */
export interface Extraction {
  readonly pages: readonly ExtractedPage[];
}

/** How a caller follows and ends the reading of a document. */
export interface ExtractCall {
  /** Ends the reading at once, with the signal's reason as the error. */
  readonly signal?: AbortSignal;
  /** Called synchronously, `done` rising from 0 to `total`; what it throws ends the reading. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** The bytes of a document: all of them, or piece by piece, each read when it is asked for. */
export type ByteSource = Uint8Array | AsyncIterable<Uint8Array>;

/** The pieces of a source. */
export async function* piecesOf(source: ByteSource): AsyncGenerator<Uint8Array, void> {
  if (!(source instanceof Uint8Array)) yield* source;
  else
    for (let at = 0; at < source.length; at += PIECE_BYTES)
      yield source.subarray(at, at + PIECE_BYTES);
}

const PIECE_BYTES = 256 * 1024;
