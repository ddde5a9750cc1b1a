/** How a caller follows and ends an embedding. */
export interface EmbedCall {
  /** Ends the call at once, with the signal's reason as the error. */
  readonly signal?: AbortSignal;
  /** A person waits for it: it goes before what is not urgent, and fails after some seconds. */
  readonly isUrgent?: boolean;
  /** Called synchronously after each batch, `done` rising to `total`; what it throws ends the call. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Turns text into vectors that lie close together where meanings do. */
export interface Embedder {
  /** Names the model and its version: vectors of different models do not compare. */
  readonly model: string;
  /** The length of every vector. */
  readonly dimensions: number;
  /**
   * One vector of unit length per text, in the order of the texts.
   * @throws RangeError for a text of nothing but white space; EmbeddingError; the signal's reason
   */
  embed(texts: readonly string[], call?: EmbedCall): Promise<Float32Array[]>;
  /** Gives back threads and memory; calls under way reject. Idempotent. */
  close(): Promise<void>;
}

/** The injection token of the Embedder. */
export const EMBEDDER = Symbol('Embedder');

/** The model failed, or did not answer in time. Trying again may help. */
export class EmbeddingError extends Error {
  readonly code = 'embedding_failed';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EmbeddingError';
  }
}
