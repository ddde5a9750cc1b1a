import { type ProblemKind } from './problem.js';

/**
 * Every code that the service answers with, except those of the lock module, which maps its own
 * errors. An error of a feature is translated by its `code`; features know no status.
 */
export const PROBLEM_KINDS = {
  bad_request: { status: 400, title: 'The request is malformed' },
  validation_failed: { status: 400, title: 'The request does not pass validation' },
  idempotency_key_invalid: { status: 400, title: 'The Idempotency-Key is not valid' },
  idempotency_key_missing: { status: 400, title: 'The Idempotency-Key is missing' },
  unauthorized: { status: 401, title: 'The request needs a token' },
  forbidden: { status: 403, title: 'The request is not allowed' },
  not_found: { status: 404, title: 'There is nothing at this address' },
  document_not_found: { status: 404, title: 'There is no such document' },
  conversation_not_found: { status: 404, title: 'There is no such conversation' },
  archive_not_found: { status: 404, title: 'There is no such archive' },
  lock_not_found: { status: 404, title: 'Nobody holds such a lock' },
  key_not_found: { status: 404, title: 'The language model has no such key' },
  key_pool_not_found: { status: 404, title: 'The language model has no keys' },
  method_not_allowed: { status: 405, title: 'The address does not support this method' },
  not_acceptable: { status: 406, title: 'No acceptable form of the answer exists' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  conflict: { status: 409, title: 'The request conflicts with the present state' },
  lock_foreign: { status: 409, title: 'The lock belongs to a foreign client' },
  embedder_changed: { status: 409, title: 'The passages are of another embedding model' },
  idempotency_in_progress: { status: 409, title: 'The first request with this key still runs' },
  payload_too_large: { status: 413, title: 'The request body is too large' },
  uri_too_long: { status: 414, title: 'The address is too long' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  expectation_failed: { status: 417, title: 'The expectation cannot be met' },
  unprocessable: { status: 422, title: 'The request cannot be processed' },
  unreadable_document: { status: 422, title: 'The document cannot be read' },
  idempotency_key_reused: {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
  },
  document_queued: { status: 423, title: 'The document waits to be processed already' },
  rate_limited: { status: 429, title: 'Too many requests' },
  stream_limit: { status: 429, title: 'Too many event streams of one client' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  internal_error: {
    status: 500,
    title: 'The service failed',
    detail: 'Something unexpected happened; the log of the replica in X-Served-By says more.',
  },
  invalid_cursor: { status: 400, title: 'The cursor is not valid' },
  database_unavailable: {
    status: 503,
    title: 'The database is not available',
    detail: 'The database gave no answer. Repeat the request.',
    retryAfterSeconds: 1,
  },
  idempotency_unavailable: {
    status: 503,
    title: 'The store of idempotency keys is not available',
    detail: 'Nobody knows whether the request was done. Repeat it with the same key.',
    retryAfterSeconds: 1,
  },
  idempotency_mark_lost: {
    status: 503,
    title: 'Another run of this request has begun',
    detail:
      'This run was no longer alone. Repeat the request with the same key to get the answer of the other.',
    retryAfterSeconds: 1,
  },
  vectors_unavailable: {
    status: 503,
    title: 'The vector store is not available',
    detail: 'The vector store gave no answer. Repeat the request.',
    retryAfterSeconds: 1,
  },
  embedding_failed: {
    status: 503,
    title: 'The embedding model failed',
    detail: 'The embedding model gave no answer. Repeat the request.',
    retryAfterSeconds: 1,
  },
  llm_unavailable: {
    status: 503,
    title: 'The language model is not available',
    detail: 'The language model gave no answer. Repeat the request.',
    retryAfterSeconds: 1,
  },
  llm_request_refused: {
    status: 503,
    title: 'The language model refuses such requests',
    detail: 'The log of the replica in X-Served-By says why.',
  },
  key_pool_busy: {
    status: 503,
    title: 'All keys of the language model are in use',
    detail: 'Others use all of them at the moment. Repeat the request after Retry-After.',
    retryAfterSeconds: 1,
  },
  key_pool_resting: {
    status: 503,
    title: 'All keys of the language model rest',
    detail: 'Their server asked to be left alone. Retry-After says when the first one is back.',
    retryAfterSeconds: 1,
  },
  key_pool_refused: {
    status: 503,
    title: 'The language model refuses all keys',
    detail: 'Somebody has to exchange the keys of this service.',
  },
  bodies_full: {
    status: 503,
    title: 'Too many large bodies are under way',
    retryAfterSeconds: 5,
  },
  content_gone: {
    status: 503,
    title: 'The document was changed while it was read',
    retryAfterSeconds: 1,
  },
  streams_full: {
    status: 503,
    title: 'The replica has too many event streams',
    retryAfterSeconds: 5,
  },
  queue_full: {
    status: 503,
    title: 'Too many documents wait to be processed',
    retryAfterSeconds: 1,
  },
  queue_wait_timeout: { status: 503, title: 'The document did not come to its turn in time' },
  unavailable: { status: 503, title: 'The service is not available', retryAfterSeconds: 1 },
  not_ready: { status: 503, title: 'This replica is not ready', retryAfterSeconds: 1 },
  lease_lost: {
    status: 503,
    title: 'The lock was lost during the work',
    detail: 'The work was stopped, and nothing of it is visible. Repeat the request.',
    retryAfterSeconds: 1,
  },
  shutting_down: {
    status: 503,
    title: 'This replica is shutting down',
    detail: 'The replica takes no new work. Repeat the request; another replica will take it.',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, ProblemKind>;

/** A code with an entry in PROBLEM_KINDS. */
export type ProblemCode = keyof typeof PROBLEM_KINDS;

/** Whether `code` has an entry in PROBLEM_KINDS. */
export function isProblemCode(code: unknown): code is ProblemCode {
  return typeof code === 'string' && Object.hasOwn(PROBLEM_KINDS, code);
}

const byStatus = new Map<number, ProblemCode>();
for (const [code, { status }] of Object.entries(PROBLEM_KINDS)) {
  if (isProblemCode(code) && !byStatus.has(status)) byStatus.set(status, code);
}

/** The code of an error that the framework raised with a mere status. */
export function codeOfStatus(status: number): ProblemCode {
  return byStatus.get(status) ?? (status >= 500 ? 'internal_error' : 'bad_request');
}
