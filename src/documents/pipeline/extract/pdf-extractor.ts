import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { ThreadPool, ThreadPoolClosedError } from '../threads/thread-pool.js';
import { type ExtractOptions, resolveExtractOptions } from './extract-options.js';
import {
  type ByteSource,
  type ExtractCall,
  type ExtractedPage,
  type Extraction,
  piecesOf,
} from './extraction.js';
import { cleanPdfText } from './clean-text.js';
import { UnreadableDocumentError, type UnreadableReason } from './unreadable-document.error.js';

type Limits = Pick<ExtractOptions, 'maxPages' | 'maxTextChars' | 'maxMemoryMb'>;
type Task = Limits & { port: MessagePort };
type Result = { ok: true; pages: number } | { ok: false; reason: UnreadableReason; detail: string };
type Message =
  | { ready: true }
  | { next: true }
  | { opened: true; pages: number }
  | { page: number; text: string };

/**
 * Reads the text of PDFs with PDFium on worker threads. The main loop sees one short message per
 * page. The bytes go to the thread piece by piece, when it is there; it holds them twice, PDFium's own copy
 * being the second.
 */
export class PdfExtractor {
  readonly #options: ExtractOptions;
  readonly #threads: ThreadPool<Task, Result>;

  /**
   * Starts nothing; the first `extract` does.
   * @param worker another worker that speaks the protocol of `pdf.worker.mjs`
   * @throws RangeError for an option out of bounds
   */
  constructor(
    options: Partial<ExtractOptions> = {},
    worker = new URL('./pdf.worker.mjs', import.meta.url),
  ) {
    this.#options = resolveExtractOptions(options);
    this.#threads = new ThreadPool({
      file: worker,
      maxThreads: this.#options.threads,
      idleMs: this.#options.idleMs,
      maxHeapMb: this.#options.maxMemoryMb,
    });
  }

  /** The ids of the threads that exist now. */
  get threadIds(): number[] {
    return this.#threads.threadIds;
  }

  /**
   * The text of every page, page 1 first; a blank page has the text ''.
   * @throws UnreadableDocumentError for a broken, encrypted or oversized PDF, or one that crashes
   * the reader; the signal's reason; ThreadPoolClosedError after `close`
   */
  async extract(source: ByteSource, call: ExtractCall = {}): Promise<Extraction> {
    call.signal?.throwIfAborted();
    using reading = new Reading(source, this.#options, call);
    let result: Result;
    try {
      result = await this.#threads.run(() => reading.pack(), {
        owner: reading,
        ...(call.signal && { waitSignal: call.signal }),
        killSignal: reading.stop.signal,
      });
    } catch (error) {
      throw reading.explain(error);
    }
    return reading.finish(result);
  }

  /** Ends the threads; whatever is being read rejects with ThreadPoolClosedError. Idempotent. */
  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** One document on its way through a worker: collects pages, watches the time, passes the abort on. */
class Reading {
  readonly stop = new AbortController();
  readonly #channel = new MessageChannel();
  readonly #pieces: AsyncGenerator<Uint8Array, void>;
  readonly #pages: ExtractedPage[] = [];
  #total = 0;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  readonly #abort = () => this.stop.abort(this.call.signal?.reason);

  constructor(
    source: ByteSource,
    private readonly options: ExtractOptions,
    private readonly call: ExtractCall,
  ) {
    this.#pieces = piecesOf(source);
    this.#channel.port1.on('message', (message: Message) => this.#receive(message));
    call.signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Called when a thread is free: from here on the time counts. */
  pack() {
    const port = this.#channel.port2;
    const { pageTimeoutMs, maxTimeMs } = this.options;
    this.#timer = setTimeout(() => {
      const what = this.#total === 0 ? 'opening it' : `page ${this.#pages.length + 1}`;
      this.#giveUp(`${what} took longer than ${pageTimeoutMs} ms`);
    }, pageTimeoutMs);
    this.#deadline = setTimeout(() => {
      const done = `${this.#pages.length} of ${this.#total} pages`;
      this.#giveUp(`${done} were read after ${maxTimeMs} ms`);
    }, maxTimeMs);
    const { maxPages, maxTextChars, maxMemoryMb } = this.options;
    const task: Task = { port, maxPages, maxTextChars, maxMemoryMb };
    return { task, transfer: [port] };
  }

  /** The pages, after the worker has answered. Its result may overtake its messages: fetch them first. */
  finish(result: Result): Extraction {
    this.#drain();
    this.stop.signal.throwIfAborted();
    if (!result.ok) {
      throw new UnreadableDocumentError(result.reason, `The PDF cannot be read: ${result.detail}.`);
    }
    if (this.#pages.length !== result.pages) {
      throw new Error(`The PDF worker sent ${this.#pages.length} of ${result.pages} pages.`);
    }
    return { pages: this.#pages };
  }

  /** A thread that dies after PDFium was ready died of this document; before that, of something else. */
  explain(error: unknown): unknown {
    this.#drain();
    if (this.stop.signal.aborted) return this.stop.signal.reason;
    if (!this.#ready || error instanceof ThreadPoolClosedError) return error;
    const message = 'The PDF cannot be read: it crashed the PDF reader.';
    return new UnreadableDocumentError('crashed', message, { cause: error });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#deadline);
    this.call.signal?.removeEventListener('abort', this.#abort);
    this.#channel.port1.close();
    this.#channel.port2.close();
  }

  /** Ends the thread, which may never come back by itself. */
  #giveUp(why: string): void {
    const message = `The PDF cannot be read: ${why}.`;
    this.stop.abort(new UnreadableDocumentError('too-slow', message));
  }

  async #sendPiece(): Promise<void> {
    try {
      const next = await this.#pieces.next();
      this.#timer?.refresh(); // the store's time is not the document's
      this.#channel.port1.postMessage(next.done === true ? null : next.value);
    } catch (error) {
      this.stop.abort(error);
    }
  }

  #drain(): void {
    let entry: { message: Message } | undefined;
    while ((entry = receiveMessageOnPort(this.#channel.port1)) !== undefined) {
      this.#receive(entry.message);
    }
  }

  #receive(message: Message): void {
    if (this.stop.signal.aborted) return;
    this.#timer?.refresh();
    if ('ready' in message) {
      this.#ready = true;
      return;
    }
    if ('next' in message) {
      void this.#sendPiece();
      return;
    }
    if ('opened' in message) this.#total = message.pages;
    else this.#pages.push({ page: message.page, text: cleanPdfText(message.text) });
    try {
      this.call.onProgress?.(this.#pages.length, this.#total);
    } catch (error) {
      this.stop.abort(error);
    }
  }
}
