/**
 * The vector store gave no answer, or none that it could mean (down, frozen, overloaded, refusing its
 * credentials). Nothing is known about the last write; it is unseen, and writing it again does no
 * harm. HTTP answers 503.
 */
export class VectorsUnavailableError extends Error {
  readonly code = 'vectors_unavailable';

  constructor(why: string, options?: ErrorOptions) {
    super(`The vector store is unavailable: ${why}`, options);
    this.name = 'VectorsUnavailableError';
  }
}
