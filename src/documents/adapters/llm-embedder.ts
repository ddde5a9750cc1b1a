import { type LlmClient } from '../../llm/index.js';
import { type EmbedCall, type Embedder, EmbeddingError } from '../ports/embedder.js';

/** What the embedder is made of. */
export interface LlmEmbedderOptions {
  readonly client: LlmClient;
  readonly model: string;
  readonly dimensions: number;
}

/** Texts per request: few enough for every server, many enough to spare requests. */
const BATCH = 64;

/** Embeddings by the language model's server, in batches, one key for each. */
export class LlmEmbedder implements Embedder {
  readonly model: string;
  readonly dimensions: number;
  private readonly name: string;
  private readonly client: LlmClient;
  private readonly closing = new AbortController();

  constructor({ client, model, dimensions }: LlmEmbedderOptions) {
    this.client = client;
    this.name = model;
    this.model = `llm:${model}:${dimensions}`;
    this.dimensions = dimensions;
  }

  async embed(
    texts: readonly string[],
    { signal, onProgress }: EmbedCall = {},
  ): Promise<Float32Array[]> {
    if (texts.some((text) => text.trim() === '')) {
      throw new RangeError('A text of nothing but white space has no embedding.');
    }
    const ends = AbortSignal.any(signal ? [signal, this.closing.signal] : [this.closing.signal]);
    const vectors: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += BATCH) {
      const batch = texts.slice(from, from + BATCH);
      const answers = await this.client.embed(this.name, batch, { signal: ends });
      vectors.push(...answers.map((answer) => this.toUnit(answer)));
      onProgress?.(vectors.length, texts.length);
    }
    return vectors;
  }

  async close(): Promise<void> {
    this.closing.abort(new EmbeddingError('The embedder is closed.'));
  }

  private toUnit(answer: readonly number[]): Float32Array {
    const length = Math.hypot(...answer);
    if (answer.length !== this.dimensions || !Number.isFinite(length) || length === 0) {
      throw new EmbeddingError(
        `The model "${this.name}" gave a vector of ${answer.length} numbers instead of ${this.dimensions}. Set LLM_EMBED_DIMENSIONS to what it gives.`,
      );
    }
    return Float32Array.from(answer, (value) => value / length);
  }
}
