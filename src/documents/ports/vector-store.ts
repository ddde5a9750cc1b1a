/** A piece of a document's text with its place and its embedding. */
export interface Passage {
  /** Unique within the document's generation, from 0. */
  readonly seq: number;
  /** null for text without pages. */
  readonly page: number | null;
  readonly text: string;
  /** Of unit length, equally long for all passages of a generation. */
  readonly embedding: Float32Array;
}

/** A passage that was found. */
export interface Hit {
  readonly seq: number;
  readonly page: number | null;
  readonly text: string;
  /** Cosine of the angle to the query: 1 the same, 0 unrelated. */
  readonly score: number;
}

/**
 * Keeps the passages of documents by *generation*: the fence of the run that wrote them. Writers
 * write unseen under their own generation; readers ask for the published one only. Every method
 * throws the store's own unavailability (VectorsUnavailableError, DatabaseUnavailableError).
 */
export interface VectorStore {
  /**
   * Adds passages to a generation; the same `seq` again replaces, so a repeated write does no harm.
   * Stops between batches when the signal aborts, with its reason; what was written stays unseen.
   * @throws StaleFenceError once a newer lease has written or deleted the document. A store that
   * cannot make the check and the write one step may let a batch through that was on its way; it
   * stays unseen, and the document's next sweep removes it.
   * @throws RangeError for embeddings that are not of unit length, or not equally long
   */
  write(
    documentId: string,
    generation: bigint,
    passages: readonly Passage[],
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * The `limit` passages of one generation most like the query, best first (equal ones by `seq`;
   * which of them make the cut is the store's choice).
   * Never a part of a generation: empty when it holds nothing or was swept during the search, so read
   * the pointer again when it is, and search again where the pointer has moved.
   * @throws EmbedderChangedError when the query is not as long as the embeddings (made by another model)
   */
  search(
    documentId: string,
    generation: bigint,
    query: Float32Array,
    limit: number,
  ): Promise<Hit[]>;
  /**
   * Removes what nobody will read again: generations below `keep`; with null, those that the
   * document's last writer (or its tombstone) has left behind. Never the published generation, and
   * never that of a run in progress.
   * @returns how many passages it has found
   */
  sweep(documentId: string, keep: bigint | null): Promise<number>;
  /** How many passages a generation holds: fewer than were written tells that the store has lost some. */
  count(documentId: string, generation: bigint): Promise<number>;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
}

/** The injection token of the VectorStore. */
export const VECTOR_STORE = Symbol('VectorStore');
