import { types } from 'node:util';
import { VectorsUnavailableError } from '../../ports/vectors-unavailable.error.js';
import { chromaAddress, DEFAULT_DATABASE, DEFAULT_TENANT } from './chroma-address.js';

const { isNativeError } = types;

/** One call of ChromaDB's API. */
export interface ChromaCall {
  readonly method: 'GET' | 'POST';
  /** Below the API (`heartbeat`), or below the database when it begins with `/`; `/` is the database. */
  readonly path: string;
  readonly body?: unknown;
  /** Ends the call at once, with the signal's reason as the error. */
  readonly signal?: AbortSignal | undefined;
  /** @default the client's */
  readonly timeoutMs?: number;
}

/** What was asked for does not exist (any more). */
export class ChromaNotFoundError extends Error {}

/** The server understood the request and does not want it: a mistake in this service, or a server of another version. */
export class ChromaRefusedError extends Error {
  readonly code = 'vectors_refused';
}

/**
 * ChromaDB's HTTP API (version 2, from server 1.0 on): each call is one request, bounded by a timeout
 * and by the caller's signal, both until the last byte of the answer. Nothing is repeated.
 */
export class ChromaHttp {
  private readonly address;

  constructor(
    url: string,
    private readonly timeoutMs: number,
  ) {
    this.address = chromaAddress(url);
  }

  /**
   * Resolves with the answer's JSON.
   * @throws VectorsUnavailableError, ChromaNotFoundError, ChromaRefusedError; the signal's reason
   */
  async call(call: ChromaCall): Promise<unknown> {
    const { status, text } = await this.exchange(call);
    if (status >= 200 && status < 300) return this.parsed(text);
    const said = text.slice(0, 300);
    if (status === 404) throw new ChromaNotFoundError(said);
    if (status >= 500 || [401, 403, 408, 429].includes(status)) {
      throw this.unavailable(new Error(`it answered ${status}: ${said}`));
    }
    throw new ChromaRefusedError(
      `ChromaDB at ${this.address.shown} refused a request with ${status}: ${said}`,
    );
  }

  /**
   * Resolves where the server has the database.
   * @throws VectorsUnavailableError where it has not, and what `call` throws
   */
  async checkDatabase(signal?: AbortSignal): Promise<void> {
    try {
      await this.call({ method: 'GET', path: '/', signal });
    } catch (error) {
      if (!(error instanceof ChromaNotFoundError)) throw error;
      const { shown, databases } = this.address;
      throw new VectorsUnavailableError(
        `ChromaDB at ${shown} has no database "${DEFAULT_DATABASE}" of the tenant "${DEFAULT_TENANT}". Create it (POST ${databases} with {"name":"${DEFAULT_DATABASE}"}), or correct CHROMA_URL.`,
        { cause: error },
      );
    }
  }

  private async exchange({ method, path, body, signal, timeoutMs = this.timeoutMs }: ChromaCall) {
    signal?.throwIfAborted();
    const json = body === undefined ? undefined : JSON.stringify(body);
    // Not AbortSignal.any: on Node 20 a signal that only such a combination refers to may be collected.
    const control = new AbortController();
    const follow = () => control.abort(signal?.reason);
    signal?.addEventListener('abort', follow, { once: true });
    const timer = setTimeout(
      () => control.abort(new Error(`no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      const response = await fetch(this.urlOf(path), {
        method,
        headers: { ...this.address.headers, 'content-type': 'application/json' },
        body: json,
        signal: control.signal,
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      signal?.throwIfAborted();
      throw this.unavailable(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', follow);
    }
  }

  private urlOf(path: string): string {
    if (path === '/') return this.address.database;
    return path.startsWith('/') ? this.address.database + path : `${this.address.api}/${path}`;
  }

  private parsed(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw this.unavailable(new Error('it answered something that is not JSON', { cause }));
    }
  }

  private unavailable(cause: unknown): VectorsUnavailableError {
    return new VectorsUnavailableError(
      `ChromaDB at ${this.address.shown} failed (${reasonOf(cause)}). Start it, or correct CHROMA_URL.`,
      { cause },
    );
  }
}

/** `fetch` says "fetch failed" and hides why in the cause. */
function reasonOf(error: unknown): string {
  if (!isNativeError(error)) return String(error);
  const { cause } = error;
  return isNativeError(cause) && 'code' in cause ? String(cause.code) : error.message;
}
