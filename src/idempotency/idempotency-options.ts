import type { IdempotencyStore, StoredAnswer } from './idempotency-store.js';

/** What the module is made of. */
export interface IdempotencyOptions {
  /** Where the records are. It stays open. */
  readonly store: IdempotencyStore;
  /** How long an answer is kept and a key means its first request, in ms. */
  readonly ttlMs: number;
  /** What the application's filters answer to an error; it is kept if it is final. */
  readonly errorAnswer: (error: unknown) => StoredAnswer;
  /**
   * Who asks: keys of different principals are different keys.
   * @default everybody is the same
   */
  readonly principal?: ((request: unknown) => string) | undefined;
  /**
   * Told of every run, so that a shutdown can wait for it also when its client has gone.
   * @default nobody is told
   */
  readonly track?: (<T>(run: Promise<T>) => Promise<T>) | undefined;
}

/** The injection token of IdempotencyOptions. */
export const IDEMPOTENCY_OPTIONS = Symbol('IdempotencyOptions');
