/** All keys were in use for all of the time that the caller had. Expected under load, not a fault. */
export class KeyPoolBusyError extends Error {
  readonly code = 'key_pool_busy';

  constructor(
    pool: string,
    waitedMs: number,
    /** When a next try is likely to succeed, in seconds: an estimate. */
    readonly retryAfterSeconds: number,
    options?: ErrorOptions,
  ) {
    super(
      `All keys of the pool "${pool}" were in use for ${waitedMs} ms. Wait longer, add keys, or allow more at once per key.`,
      options,
    );
    this.name = 'KeyPoolBusyError';
  }
}

/** All keys rest, and the first is back later than the caller would wait. */
export class KeyPoolRestingError extends Error {
  readonly code = 'key_pool_resting';

  constructor(
    pool: string,
    /** When the first key is back, in seconds. */
    readonly retryAfterSeconds: number,
    options?: ErrorOptions,
  ) {
    super(
      `All keys of the pool "${pool}" rest; the first is back in ${retryAfterSeconds} s.`,
      options,
    );
    this.name = 'KeyPoolRestingError';
  }
}

/** Every key was refused by its server, and is out of use until somebody does something about it. */
export class KeyPoolRefusedError extends Error {
  readonly code = 'key_pool_refused';

  constructor(pool: string, options?: ErrorOptions) {
    super(
      `Every key of the pool "${pool}" was refused (401 or 403) and is out of use. Exchange the keys, or readmit them.`,
      options,
    );
    this.name = 'KeyPoolRefusedError';
  }
}

/** No key of the pool has this fingerprint: it was exchanged, or is a key of another service. */
export class KeyNotFoundError extends Error {
  readonly code = 'key_not_found';

  constructor(member: string) {
    super(`No key has the fingerprint "${member}". GET /pool lists those that there are.`);
    this.name = 'KeyNotFoundError';
  }
}
