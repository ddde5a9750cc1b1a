import { eventually } from './eventually.js';

/** A document as the service answers it, as far as tests look. */
export interface DocumentBody {
  readonly id: string;
  readonly state: string;
  readonly progress: { readonly stage: string; readonly done: number } | null;
  readonly pages: number | null;
  readonly chunks: number | null;
  readonly fence: string;
  readonly error: { readonly code: string } | null;
  readonly processedAt: string | null;
  readonly replica: string | null;
}

/** A response with its parsed body. */
export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** Anything that answers requests: a replica, say. */
export interface Fetcher {
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** Requests to the documents of one replica. */
export class DocumentsClient {
  constructor(private readonly service: Fetcher) {}

  put(id: string, text: string): Promise<Answer<DocumentBody>> {
    return this.send(`/documents/${id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: id, text }),
    });
  }

  process(id: string, init: RequestInit = {}): Promise<Answer<Record<string, unknown>>> {
    return this.send(`/documents/${id}/process`, { method: 'POST', ...init });
  }

  /**
   * Has it processed, where that is what a test begins with: again after a 503, as any client would, since
   * a machine that stood still has lost the lease. @throws with the last answer, after 20 s
   */
  processed(id: string): Promise<Record<string, unknown>> {
    return eventually(
      async () => {
        const { status, body } = await this.process(id);
        if (status === 503) return false;
        if (status !== 200) throw new Error(`process ${id}: ${status} ${JSON.stringify(body)}`);
        return body;
      },
      { what: `${id} to be processed`, timeoutMs: 20_000, everyMs: 1_000 },
    );
  }

  start(id: string): Promise<Answer<Record<string, unknown>>> {
    return this.process(id, { headers: { prefer: 'respond-async' } });
  }

  async get(id: string): Promise<DocumentBody> {
    const { body } = await this.send<DocumentBody>(`/documents/${id}`);
    return body;
  }

  async passages(id: string, q: string): Promise<string[]> {
    const path = `/documents/${id}/search?limit=50&q=${encodeURIComponent(q)}`;
    const { body } = await this.send<{ passages: { text: string }[] }>(path);
    return body.passages.map(({ text }) => text);
  }

  async send<T>(path: string, init?: RequestInit): Promise<Answer<T>> {
    const response = await this.service.fetch(path, init);
    const text = await response.text();
    const body: T = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body };
  }
}
