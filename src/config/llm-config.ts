import { type LlmConfig } from './config.js';
import { type Env } from './env.dto.js';

/** The language model that the settings describe; null where there are no keys. */
export function llmConfig(env: Env): LlmConfig | null {
  const apiKeys = keysOf(env);
  if (apiKeys.length === 0) return null;
  const { LLM_EMBED_MODEL: model, LLM_EMBED_DIMENSIONS: dimensions } = env;
  return {
    baseUrl: env.LLM_BASE_URL,
    apiKeys,
    chatModel: env.LLM_CHAT_MODEL ?? null,
    embed: env.EMBEDDER === 'llm' && model && dimensions ? { model, dimensions } : null,
    keyConcurrency: env.LLM_KEY_CONCURRENCY,
    requestsPerMinute: env.LLM_KEY_REQUESTS_PER_MINUTE ?? null,
    tokensPerMinute: env.LLM_KEY_TOKENS_PER_MINUTE ?? null,
    waitMs: env.LLM_WAIT_MS,
    timeoutMs: env.LLM_TIMEOUT_MS,
  };
}

/** What does not fit together in these settings; never with a key in it. */
export function llmMismatches(env: Env): string[] {
  const mistakes: string[] = [];
  const keys = keysOf(env);
  if (new Set(keys).size < keys.length) {
    mistakes.push(
      'LLM_API_KEYS names a key twice, which would be used twice as often as it may. Name each once.',
    );
  }
  if (keys.length > 0 && env.LLM_CHAT_MODEL === undefined && env.EMBEDDER !== 'llm') {
    mistakes.push(
      'LLM_API_KEYS is set, but nothing would use it. Set LLM_CHAT_MODEL, or EMBEDDER=llm and LLM_EMBED_MODEL.',
    );
  }
  if (keys.length === 0 && env.LLM_CHAT_MODEL !== undefined) {
    mistakes.push('LLM_CHAT_MODEL is set without LLM_API_KEYS. Set both, or none.');
  }
  const embedding = ['LLM_API_KEYS', 'LLM_EMBED_MODEL', 'LLM_EMBED_DIMENSIONS'] as const;
  const missing = embedding.filter((name) => env[name] === undefined);
  if (env.EMBEDDER === 'llm' && missing.length > 0) {
    mistakes.push(`EMBEDDER is "llm", which needs ${missing.join(' and ')}. Set them.`);
  }
  return mistakes;
}

function keysOf({ LLM_API_KEYS }: Env): string[] {
  return (LLM_API_KEYS ?? '').split(',').flatMap((key) => key.trim() || []);
}
