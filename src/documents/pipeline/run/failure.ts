import { StaleFenceError } from '../../../database/index.js';
import { LockLostError, LockUnavailableError } from '../../../lock/index.js';
import { DocumentNotFoundError } from '../../documents.errors.js';
import { UnreadableDocumentError } from '../extract/index.js';

/** How a run's failure is shown to people. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** Nobody came to the end of a document's run, as often as it was begun. */
export class RunsAbandonedError extends Error {
  readonly code = 'lease_lost';

  constructor(attempts: number) {
    super(
      `Its worker died or lost the lock, ${attempts} times in a row. The logs of the replicas say why; after that, process the document again.`,
    );
    this.name = 'RunsAbandonedError';
  }
}

/** What is said of a document that takes longer than a lock may be held. */
export function overlong(maxHoldMs: number): Failure {
  return {
    code: 'lease_lost',
    message: `The processing took longer than ${maxHoldMs} ms and was stopped. Raise LOCK_MAX_HOLD_MS, or split the document.`,
  };
}

/** What is said, by the error's `code`, of trouble that the document is not to blame for. */
const TROUBLE = new Map<unknown, string>([
  [
    'database_unavailable',
    'The database could not be used; the log says why. Process the document again.',
  ],
  [
    'vectors_unavailable',
    'The vector store could not be used; the log says why. Process the document again.',
  ],
  ['embedding_failed', 'The embedding model failed. Process the document again.'],
  ['llm_unavailable', 'The language model gave no answer. Process the document again.'],
  [
    'llm_request_refused',
    'The language model refuses such requests; the log says why. Correct its settings (LLM_*), and process the document again.',
  ],
  [
    'key_pool_busy',
    'All keys of the language model were in use. Process the document again, or add keys.',
  ],
  [
    'key_pool_resting',
    'All keys of the language model rest, as their server asked. Process the document again later; GET /pool says when they are back.',
  ],
  [
    'key_pool_refused',
    'The language model refuses all keys. Exchange or readmit them, and process the document again.',
  ],
]);

/** What to note in the row for an error; null where the run must not touch the row (any more). */
export function failureOf(error: unknown): Failure | null {
  const isOver =
    error instanceof LockLostError ||
    error instanceof StaleFenceError ||
    error instanceof DocumentNotFoundError;
  if (isOver) return null;
  if (error instanceof UnreadableDocumentError) return { code: error.code, message: error.message };
  if (error instanceof LockUnavailableError) {
    const message = 'The store of locks and keys gave no answer. Process the document again.';
    return { code: 'lock_unavailable', message };
  }
  const { code } = error as { code?: unknown };
  const message = error instanceof Error ? TROUBLE.get(code) : undefined;
  if (message !== undefined) return { code: String(code), message };
  return {
    code: 'internal_error',
    message: 'Something unexpected happened; the log says more. Process the document again.',
  };
}
