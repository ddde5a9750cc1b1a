import type { Transferable } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { Turnstile } from './turnstile.js';

/** How a pool of worker threads is set up. */
export interface ThreadPoolOptions {
  /** The worker's module (plain `.mjs`; its default export gets the task and returns the result). */
  readonly file: URL;
  /** At most so many threads, each with one task at a time. */
  readonly maxThreads: number;
  /** A thread that had nothing to do for so long is ended, in milliseconds. */
  readonly idleMs: number;
  /** The largest JavaScript heap of one thread, in megabytes; beyond it the thread dies, not the process. */
  readonly maxHeapMb: number;
}

/** What goes to a worker, and what of it is moved there instead of copied. */
export interface Parcel<Task> {
  readonly task: Task;
  readonly transfer?: readonly Transferable[];
}

/** How one task is run. */
export interface RunOptions {
  /** On whose account it runs: see Turnstile. */
  readonly owner: object;
  /** A person waits for it: see Turnstile. */
  readonly isUrgent?: boolean | undefined;
  /** Ends the wait for a thread; a task that runs already goes on. */
  readonly waitSignal?: AbortSignal;
  /** Ends the task by killing its thread. */
  readonly killSignal?: AbortSignal;
}

/** The pool was closed while the task waited or ran, or before it came. */
export class ThreadPoolClosedError extends Error {
  readonly code = 'thread_pool_closed';

  constructor() {
    super('The worker threads were closed: the process is shutting down.');
    this.name = 'ThreadPoolClosedError';
  }
}

interface ThreadSet<Task, Result> {
  readonly threads: Piscina<Task, Result>;
  /** Why the set was given up, if it was. */
  failure?: Error;
}

/**
 * Worker threads that start when first needed and never keep the process alive while idle.
 *
 * Piscina runs the threads; the turnstile in front of it decides who is next, so that no task ever
 * waits inside Piscina for longer than a thread takes to start. That matters: Piscina does not hand
 * on tasks that wait behind one whose thread was killed.
 */
export class ThreadPool<Task, Result> {
  readonly #turnstile: Turnstile;
  readonly #closing = new AbortController();
  #set: ThreadSet<Task, Result> | undefined;

  constructor(private readonly options: ThreadPoolOptions) {
    this.#turnstile = new Turnstile(options.maxThreads);
  }

  /** The ids of the threads that exist now; empty before the first task and after `close`. */
  get threadIds(): number[] {
    return this.#set?.threads.threads.map((thread) => thread.threadId) ?? [];
  }

  /**
   * Runs one task. The parcel is packed only when a thread is free, so that a queue holds no copies.
   * @throws the reason of whichever signal aborted, ThreadPoolClosedError, or what the worker threw
   */
  async run(pack: () => Parcel<Task>, options: RunOptions): Promise<Result> {
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason;
    const leave = await this.#turnstile.enter({
      owner: options.owner,
      isUrgent: options.isUrgent,
      signal: options.waitSignal,
    });
    const kill = new AbortController();
    let set: ThreadSet<Task, Result> | undefined;
    const unlink = [options.killSignal, this.#closing.signal].map((signal) => link(signal, kill));
    try {
      kill.signal.throwIfAborted();
      const { task, transfer = [] } = pack();
      set = this.#start();
      return await set.threads.run(task, {
        filename: this.options.file.href,
        transferList: [...transfer],
        signal: kill.signal,
      });
    } catch (error) {
      if (kill.signal.aborted) throw kill.signal.reason;
      throw set?.failure ?? error;
    } finally {
      for (const end of unlink) end();
      leave();
    }
  }

  /** Ends all threads now; running and waiting tasks reject with ThreadPoolClosedError. Idempotent. */
  async close(): Promise<void> {
    const reason = new ThreadPoolClosedError();
    this.#closing.abort(reason);
    this.#turnstile.refuseWaiters(reason);
    const set = this.#set;
    this.#set = undefined;
    await set?.threads.destroy();
  }

  #start(): ThreadSet<Task, Result> {
    if (this.#set !== undefined) return this.#set;
    const threads = new Piscina<Task, Result>({
      minThreads: 0,
      maxThreads: this.options.maxThreads,
      idleTimeout: this.options.idleMs,
      resourceLimits: { maxOldGenerationSizeMb: this.options.maxHeapMb },
      recordTiming: false,
    });
    const set: ThreadSet<Task, Result> = { threads };
    // A thread died outside a task, and is gone. Only if it died while starting does a task still
    // wait for it; that one would wait for ever, so the whole set is given up and built anew.
    const giveUp = (cause: unknown) => {
      if (threads.queueSize === 0) return;
      const why = (cause as Error).message;
      set.failure = new Error(`A worker thread could not be started: ${why}`, { cause });
      if (this.#set === set) this.#set = undefined;
      void threads.destroy();
    };
    threads.on('error', giveUp);
    // One that exits throws nothing. Piscina counts it until the event is over.
    threads.on('workerDestroy', () =>
      setImmediate(() => {
        if (threads.threads.length === 0) giveUp(new Error('It exited before it was ready.'));
      }),
    );
    this.#set = set;
    return set;
  }
}

/** Passes an abort on; returns what undoes the link (a long-lived signal must not collect listeners). */
function link(from: AbortSignal | undefined, to: AbortController): () => void {
  if (from === undefined) return () => undefined;
  const pass = () => to.abort(from.reason);
  if (from.aborted) pass();
  else from.addEventListener('abort', pass, { once: true });
  return () => from.removeEventListener('abort', pass);
}
