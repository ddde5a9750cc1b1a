/** What `@Idempotent()` says of a route. */
export interface IdempotentOptions {
  /**
   * Refuse requests without a key, with 400.
   * @default false: they are done each time
   */
  readonly required?: boolean | undefined;
}

/** The metadata key under which a handler keeps its IdempotentOptions. */
export const IDEMPOTENT_ROUTE = 'doclock:idempotent';
