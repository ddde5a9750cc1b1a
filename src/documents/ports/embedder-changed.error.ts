/** A document's passages were embedded by another model than questions are now: the two do not compare. */
export class EmbedderChangedError extends RangeError {
  readonly code = 'embedder_changed';

  constructor(documentId: string, why: string) {
    super(
      `The passages of document "${documentId}" were embedded by another model than questions are now (${why}), and the two do not compare. Process it again: POST /documents/${documentId}/process.`,
    );
    this.name = 'EmbedderChangedError';
  }
}
