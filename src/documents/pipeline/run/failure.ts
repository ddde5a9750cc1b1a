import { DatabaseUnavailableError, StaleFenceError } from '../../../database/index.js';
import { LockLostError } from '../../../lock/index.js';
import { DocumentNotFoundError } from '../../documents.errors.js';
import { EmbeddingError } from '../../ports/embedder.js';
import { VectorsUnavailableError } from '../../ports/vectors-unavailable.error.js';
import { UnreadableDocumentError } from '../extract/index.js';

/** How a run's failure is shown to people. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** What to note in the row for an error; null where the run must not touch the row (any more). */
export function failureOf(error: unknown): Failure | null {
  const isOver =
    error instanceof LockLostError ||
    error instanceof StaleFenceError ||
    error instanceof DocumentNotFoundError;
  if (isOver) return null;
  if (error instanceof UnreadableDocumentError) return { code: error.code, message: error.message };
  if (error instanceof EmbeddingError) {
    return { code: error.code, message: 'The embedding model failed. Process the document again.' };
  }
  if (error instanceof DatabaseUnavailableError) {
    return { code: error.code, message: 'The database was away. Process the document again.' };
  }
  if (error instanceof VectorsUnavailableError) {
    return { code: error.code, message: 'The vector store was away. Process the document again.' };
  }
  return {
    code: 'internal_error',
    message: 'Something unexpected happened; the log says more. Process the document again.',
  };
}
