/** What a route may be answered with that asks a model, be it for an embedding or for an answer. */
export const modelProblems = [
  'embedding_failed',
  'llm_unavailable',
  'llm_request_refused',
  'key_pool_busy',
  'key_pool_resting',
  'key_pool_refused',
] as const;
