/** Nobody holds a lock of this name. */
export class LockNotFoundError extends Error {
  readonly code = 'lock_not_found';

  constructor(name: string) {
    super(`Nobody holds a lock "${name}". GET /locks lists those that are held.`);
    this.name = 'LockNotFoundError';
  }
}

/** A client of another kind holds the lock: it cannot be told to stop, and was left alone. */
export class ForeignLockError extends Error {
  readonly code = 'lock_foreign';

  constructor(name: string) {
    super(
      `The lock "${name}" is held by a client that is not this service and cannot be told to stop. With force=true its lock is deleted, and it works on beside the next holder.`,
    );
    this.name = 'ForeignLockError';
  }
}

/** There are no keys to look after. */
export class KeyPoolNotFoundError extends Error {
  readonly code = 'key_pool_not_found';

  constructor() {
    super('No language model is set up: LLM_API_KEYS is empty.');
    this.name = 'KeyPoolNotFoundError';
  }
}
