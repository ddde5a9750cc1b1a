/** The header is no usable key. Nothing has run. */
export class IdempotencyKeyInvalidError extends Error {
  readonly code = 'idempotency_key_invalid';

  constructor() {
    super(
      'Idempotency-Key must be one quoted string of 1 to 255 printable ASCII characters, such as "8e03978e-40d5-43dd-bc93-6894a57f9324" (the quotes may be left out if it holds only letters, digits and ._~:/+=-).',
    );
    this.name = 'IdempotencyKeyInvalidError';
  }
}

/** The route needs a key and the request has none. Nothing has run. */
export class IdempotencyKeyMissingError extends Error {
  readonly code = 'idempotency_key_missing';

  constructor() {
    super(
      'This address needs the header Idempotency-Key with a value that is new for each operation, such as a random UUID.',
    );
    this.name = 'IdempotencyKeyMissingError';
  }
}

/** The key belongs to another request. Nothing has run. */
export class IdempotencyKeyReusedError extends Error {
  readonly code = 'idempotency_key_reused';

  constructor() {
    super(
      'This Idempotency-Key was first used with another request. Use a new key for a new operation, or repeat the first request unchanged.',
    );
    this.name = 'IdempotencyKeyReusedError';
  }
}

/** The first request with this key still runs. */
export class IdempotencyInProgressError extends Error {
  readonly code = 'idempotency_in_progress';

  constructor(
    /** When the first is likely to be done; at least 1. */
    readonly retryAfterSeconds: number,
  ) {
    super(
      'The first request with this Idempotency-Key is still running. Repeat it after Retry-After to get its answer.',
    );
    this.name = 'IdempotencyInProgressError';
  }
}

/** The mark was lost during the work and somebody else has begun: whatever this run did, its answer is void. */
export class IdempotencyMarkLostError extends Error {
  readonly code = 'idempotency_mark_lost';

  constructor() {
    super('The mark of an idempotent request was lost during the work, and another run has begun.');
    this.name = 'IdempotencyMarkLostError';
  }
}

/** The store of the records gave no answer: nobody knows whether the operation was done. */
export class IdempotencyUnavailableError extends Error {
  readonly code = 'idempotency_unavailable';

  constructor(cause: unknown) {
    super(
      `The store of idempotency records gave no answer: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
    this.name = 'IdempotencyUnavailableError';
  }
}
