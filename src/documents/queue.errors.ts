/** The queue takes no more documents. Nothing was begun. */
export class QueueFullError extends Error {
  readonly code = 'queue_full';

  constructor(limit: number) {
    super(
      `${limit} documents wait or are processed already. Repeat the request after Retry-After.`,
    );
    this.name = 'QueueFullError';
  }
}

/** The document did not come to its turn while the request could wait. Nothing was begun. */
export class QueueWaitTimeoutError extends Error {
  readonly code = 'queue_wait_timeout';

  constructor(
    waitedMs: number,
    /** When those before it are likely to be done; at least 1. */
    readonly retryAfterSeconds: number,
  ) {
    super(
      `Others were processed for all of ${Math.round(waitedMs / 1000)} s. Repeat the request after Retry-After, or have it queued with "Prefer: respond-async".`,
    );
    this.name = 'QueueWaitTimeoutError';
  }
}

/** The document is in the queue already: it will be processed without this request. */
export class DocumentQueuedError extends Error {
  readonly code = 'document_queued';

  constructor(
    ahead: number,
    /** When it is likely to be done; at least 1. */
    readonly retryAfterSeconds: number,
  ) {
    super(
      `The document waits to be processed already, after ${ahead} others. GET it to see how far it is.`,
    );
    this.name = 'DocumentQueuedError';
  }
}

/** The replica began to leave before the document came to its turn. Nothing was begun. */
export class LeavingError extends Error {
  readonly code = 'shutting_down';

  constructor() {
    super('The replica leaves, and begins nothing any more.');
    this.name = 'LeavingError';
  }
}
