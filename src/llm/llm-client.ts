import { setTimeout as delay } from 'node:timers/promises';
import OpenAI, { APIConnectionError, APIError } from 'openai';
import { type KeyLease, type KeyPool, LEAST_REST_MS, retryAfterMs } from '../key-pool/index.js';
import { LlmRequestRefusedError, LlmUnavailableError } from './llm.errors.js';

/** What a client is made of. Durations in ms. */
export interface LlmClientOptions {
  readonly baseUrl: string;
  readonly pool: KeyPool;
  /** How long a call waits for a free key, in all; after that it asks no key that has refused it already. */
  readonly waitMs: number;
  /** How long one request may take, its answer included. */
  readonly timeoutMs: number;
}

/** One message of a chat. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** What a model says. */
export interface ChatAnswer {
  readonly text: string;
  readonly model: string;
  /** Why the text is not all of it: the model stopped at its greatest `length`, or a `filter` stopped it; null: it is. */
  readonly cutOff: CutOff;
}

/** Why an answer is not whole; null: it is. */
export type CutOff = 'length' | 'filter' | null;

/** Of one call. */
export interface LlmCall {
  readonly signal?: AbortSignal | undefined;
  /** Ends the wait for the first key only: what has begun goes on. */
  readonly waitSignal?: AbortSignal | undefined;
  /** Called with each piece of an answer as it arrives; `restarted` where an earlier part is void. */
  readonly onPiece?: ((piece: string, restarted: boolean) => void) | undefined;
}

interface Used<T> {
  readonly value: T;
  /** As the server counts them; 0 where it does not say. */
  readonly tokens: number;
}

const cutOffs = new Map<string, CutOff>([
  ['length', 'length'],
  ['content_filter', 'filter'],
]);

/** Failures of the server that a call survives; keys that rest or are refused do not count. */
const RETRIES = 2;
const FIRST_RETRY_PAUSE_MS = 200;
/** A 429 that does not say for how long. */
const DEFAULT_REST_MS = 10_000;

/**
 * Chat and embeddings of an OpenAI-compatible server, with the keys of a pool: one lease for each
 * request, ended with it. A key that is answered 429 rests as long as it says (a second at least), one
 * that is answered 401 or 403 is out of use, and the next key is tried; other trouble is tried again a
 * few times. When the lease is lost, the request is aborted and begun anew.
 *
 * Both throw LlmUnavailableError, LlmRequestRefusedError, the pool's errors, LockUnavailableError or
 * the signal's reason. No message holds a key.
 */
export class LlmClient {
  private readonly options: LlmClientOptions;
  private readonly clients = new Map<string, OpenAI>();

  constructor(options: LlmClientOptions) {
    this.options = options;
  }

  /** The answer to a chat, streamed; to the end that the model has given it, or an error. */
  chat(model: string, messages: readonly ChatMessage[], call: LlmCall = {}): Promise<ChatAnswer> {
    let pieces = 0;
    return this.withKey(call, async (client, signal) => {
      const stream = await client.chat.completions.create(
        {
          model,
          messages: [...messages],
          stream: true,
          stream_options: { include_usage: true },
        },
        { signal },
      );
      let text = '';
      let restarted = pieces > 0;
      let finish: string | null = null;
      let tokens = 0;
      for await (const chunk of stream) {
        const choice = chunk.choices[0];
        const piece = choice?.delta.content ?? '';
        text += piece;
        if (piece !== '') {
          pieces += 1;
          call.onPiece?.(piece, restarted);
          restarted = false;
        }
        finish = choice?.finish_reason ?? finish;
        tokens = chunk.usage?.total_tokens ?? tokens;
      }
      if (!finish) throw new BrokenOffError();
      return { value: { text, model, cutOff: cutOffs.get(finish) ?? null }, tokens };
    });
  }

  /** One vector per text, in the order of the texts; at most as many texts as the server takes at once. */
  embed(model: string, texts: readonly string[], call: LlmCall = {}): Promise<number[][]> {
    return this.withKey(call, async (client, signal) => {
      const { data, usage } = await client.embeddings.create(
        { model, input: [...texts], encoding_format: 'float' },
        { signal },
      );
      const vectors = data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
      if (vectors.length !== texts.length) throw new BrokenOffError();
      return { value: vectors, tokens: usage?.total_tokens ?? 0 };
    });
  }

  private async withKey<T>(
    { signal, waitSignal }: LlmCall,
    request: (client: OpenAI, signal: AbortSignal) => Promise<Used<T>>,
  ): Promise<T> {
    const { pool, waitMs } = this.options;
    const until = performance.now() + waitMs;
    const refused = new Set<string>();
    let firstWait = anyOf(signal, waitSignal);
    for (let failures = 0; ;) {
      const left = Math.max(0, Math.ceil(until - performance.now()));
      const taken = await pool.take({ waitMs: left, signal: firstWait ?? signal });
      firstWait = undefined;
      try {
        return await this.once(taken, signal, request);
      } catch (error) {
        signal?.throwIfAborted();
        if (await this.blamesKey(taken, error)) {
          // Short rests may always end in time for the next try: only the caller's budget ends that.
          const isOver = performance.now() >= until && refused.has(taken.member);
          if (isOver) throw pool.resting(LEAST_REST_MS);
          refused.add(taken.member);
          continue;
        }
        if (isRefusal(error)) throw new LlmRequestRefusedError(this.describe(error));
        failures += 1;
        if (failures > RETRIES) throw new LlmUnavailableError(this.describe(error));
      } finally {
        await taken.lease.release();
      }
      await delay(FIRST_RETRY_PAUSE_MS * 2 ** (failures - 1), undefined, { signal });
    }
  }

  private async once<T>(
    taken: KeyLease,
    signal: AbortSignal | undefined,
    request: (client: OpenAI, signal: AbortSignal) => Promise<Used<T>>,
  ): Promise<T> {
    const ends = [taken.lease.signal, AbortSignal.timeout(this.options.timeoutMs)];
    const any = AbortSignal.any(signal ? [...ends, signal] : ends);
    try {
      const { value, tokens } = await request(this.clientOf(taken), any);
      if (tokens > 0) await this.options.pool.spend(taken, tokens).catch(() => undefined); // the answer is there
      return value;
    } catch (error) {
      throw any.aborted ? any.reason : error;
    }
  }

  /** Whether the server has spoken of the key; then the next one is tried. */
  private async blamesKey(taken: KeyLease, error: unknown): Promise<boolean> {
    if (!(error instanceof APIError) || error.status === undefined) return false;
    const { status, headers } = error as APIError<number, Headers>;
    if (status === 429) {
      const told = retryAfterMs(headers?.get('retry-after'), headers?.get('date'));
      await this.options.pool.rest(taken, told ?? DEFAULT_REST_MS);
    } else if (status === 401 || status === 403) {
      await this.options.pool.refuse(taken, String(status));
    } else {
      return false;
    }
    return true;
  }

  private describe(error: unknown): string {
    const { message, name } = error as Error;
    if (error instanceof APIConnectionError) return 'its server cannot be reached';
    if (name === 'TimeoutError') return `nothing complete within ${this.options.timeoutMs} ms`;
    return this.options.pool.redact(message).slice(0, 300);
  }

  private clientOf({ key, member }: KeyLease): OpenAI {
    let client = this.clients.get(member);
    if (!client) {
      client = new OpenAI({
        apiKey: key,
        baseURL: this.options.baseUrl,
        organization: null,
        project: null,
        maxRetries: 0, // the pool says with which key, and when
        timeout: this.options.timeoutMs,
        logLevel: 'off',
      });
      this.clients.set(member, client);
    }
    return client;
  }
}

function anyOf(...signals: (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}

/** An answer that ends before its end. */
class BrokenOffError extends Error {
  constructor() {
    super('the answer broke off');
  }
}

/** A request that no key will make better. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof APIError) || error.status === undefined) return false;
  const { status } = error as APIError<number>;
  return status >= 400 && status < 500 && status !== 408 && status !== 409;
}
