import { type KeyPool } from '../key-pool/index.js';
import { type LlmClient } from './llm-client.js';

/** The language model of this service. */
export interface Llm {
  readonly client: LlmClient;
  readonly pool: KeyPool;
  /** null: it answers no questions. */
  readonly chatModel: string | null;
  /** null: it computes no embeddings. */
  readonly embed: { readonly model: string; readonly dimensions: number } | null;
}

/** The injection token of the Llm, or of null where none is set up. */
export const LLM = Symbol('Llm');
