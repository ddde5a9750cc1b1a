/** The language model's server failed, was too slow or cut its answer off, again and again. Trying later may help. */
export class LlmUnavailableError extends Error {
  readonly code = 'llm_unavailable';

  /** @param why without any key in it: servers may repeat one */
  constructor(why: string) {
    super(`The language model gave no answer: ${why}`);
    this.name = 'LlmUnavailableError';
  }
}

/** The language model's server refuses such requests (a 4xx): its settings are wrong, or the question is too long. */
export class LlmRequestRefusedError extends Error {
  readonly code = 'llm_request_refused';

  /** @param why without any key in it */
  constructor(why: string) {
    super(`The language model refuses the request: ${why}`);
    this.name = 'LlmRequestRefusedError';
  }
}
