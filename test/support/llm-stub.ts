import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** How the stub treats one request: it answers after so long, or when it is told. Headers of a refusal are sent as they are. */
export type StubAnswer =
  | {
      readonly kind: 'refuse';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly afterMs?: number;
    }
  | {
      readonly kind: 'answer';
      readonly afterMs?: number;
      readonly when?: Promise<unknown>;
      readonly text?: string;
      /** Why the model ends there. @default 'stop' */
      readonly finish?: string;
    }
  | { readonly kind: 'cut-off' };

/** What the stub saw of one request. Times are ms since the epoch. */
export interface StubRequest {
  readonly key: string;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly body: { readonly model: string; readonly input?: string[]; readonly messages?: unknown };
  readonly receivedAt: number;
  /** When the stub began to answer, or found that the client had gone; undefined while neither is so. */
  endedAt: number | undefined;
  /** The client closed the connection before the answer was complete. */
  aborted: boolean;
}

/** The numbers of a text's vector: the same for the same text. */
const DIMENSIONS = 8;

/**
 * An OpenAI-compatible server for tests: counts who uses which key at once, and answers as told. What a
 * refusal says repeats the key, as careless servers do.
 */
export class LlmStub implements AsyncDisposable {
  readonly requests: StubRequest[] = [];
  /** The most requests that one key had under way at once. */
  mostAtOnce = 0;
  /** How each request is treated; the n-th of its key, from 0. */
  treat: (key: string, n: number, request: StubRequest) => StubAnswer = () => ({ kind: 'answer' });
  /** Told of each request whose answer has gone out whole, in that instant. */
  onAnswered: (request: StubRequest) => void = () => undefined;
  private readonly underWay = new Map<string, number>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<LlmStub> {
    const server = createServer();
    const stub = new LlmStub(server);
    server.on('request', (request, response) => void stub.serve(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** Requests with this key so far. */
  count(key: string): number {
    return this.requests.filter((request) => request.key === key).length;
  }

  forget(): void {
    this.requests.length = 0;
    this.mostAtOnce = 0;
    this.treat = () => ({ kind: 'answer' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const receivedAt = Date.now();
    const key = (request.headers.authorization ?? '').replace('Bearer ', '');
    const nth = this.count(key);
    const now = (this.underWay.get(key) ?? 0) + 1;
    this.underWay.set(key, now);
    this.mostAtOnce = Math.max(this.mostAtOnce, now);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as StubRequest['body'];
    const { url: path = '', headers } = request;
    const about = { key, path, headers, body, receivedAt };
    const seen: StubRequest = { ...about, endedAt: undefined, aborted: false };
    this.requests.push(seen);
    response.once('close', () => {
      seen.aborted = !response.writableFinished;
      seen.endedAt ??= Date.now();
      this.underWay.set(key, (this.underWay.get(key) ?? 1) - 1);
    });
    response.once('finish', () => this.onAnswered(seen));
    this.answer(this.treat(key, nth, seen), seen, response);
  }

  private answer(answer: StubAnswer, seen: StubRequest, response: ServerResponse) {
    const { key, path, body } = seen;
    if (answer.kind === 'refuse') {
      const refuse = () => {
        seen.endedAt = Date.now();
        const headers = { 'content-type': 'application/json', ...answer.headers };
        response.writeHead(answer.status, headers);
        response.end(JSON.stringify({ error: { message: `The key ${key} is not welcome.` } }));
      };
      if (answer.afterMs === undefined) refuse();
      else void pause(answer.afterMs).then(refuse);
      return;
    }
    const due = answer.kind === 'answer' ? (answer.when ?? pause(answer.afterMs ?? 0)) : pause(0);
    void due.then(() => {
      if (response.destroyed) return;
      seen.endedAt = Date.now();
      if (path.endsWith('/embeddings')) return embeddings(body.input ?? [], response);
      if (answer.kind === 'cut-off') return chat('It is', null, response);
      chat(answer.text ?? 'It is so [1].', answer.finish ?? 'stop', response);
    });
  }
}

function pause(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false });
}

function embeddings(input: readonly string[], response: ServerResponse): void {
  const data = input.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: vector(text),
  }));
  response.writeHead(200, { 'content-type': 'application/json' });
  // Out of order, as the index allows.
  response.end(JSON.stringify({ data: data.toReversed(), usage: { total_tokens: input.length } }));
}

function vector(text: string): number[] {
  const numbers = Array.from({ length: DIMENSIONS }, () => 1);
  for (const [at, character] of Array.from(text).entries()) {
    numbers[at % DIMENSIONS] = (numbers[at % DIMENSIONS] ?? 0) + (character.codePointAt(0) ?? 0);
  }
  return numbers;
}

/** `finish` null: the connection breaks before the end. */
function chat(text: string, finish: string | null, response: ServerResponse): void {
  const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of text.match(/.{1,4}/gs) ?? []) {
    send({ choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] });
  }
  if (finish === null) {
    setTimeout(() => response.destroy(), 20);
    return;
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
  send({ choices: [], usage: { total_tokens: 100 } });
  response.end('data: [DONE]\n\n');
}
