import { types } from 'node:util';
import { judge } from './answers.js';
import type { Journal, Operation, OperationKind } from './journal.js';
import type { LibraryDocument } from './library.js';
import { tornPassages } from './passages.js';
import type { Replica } from './replica.js';

/** Longer than any answer may take: whoever waits so long has found a hang. */
const GIVE_UP_MS = 60_000;

/** One request of a client: what, about what, to whom. */
export interface Wish {
  readonly kind: OperationKind;
  readonly document: LibraryDocument;
  readonly replica: Replica;
  /** Of an upload. */
  readonly version?: number;
  /** Of an `ask-once`: the question, and its key. */
  readonly question?: string;
}

/** Sends requests, notes what became of them, and judges every answer. */
export class Requests {
  /** @param judgement what is wrong with an answer; besides the form of problems and torn passages */
  constructor(
    private readonly journal: Journal,
    private readonly judgement: typeof judge = judge,
  ) {}

  /** Resolves with the outcome, whatever it is. */
  async send(wish: Wish): Promise<Operation> {
    const { kind, document, replica } = wish;
    const sentAt = Date.now();
    const { path, init } = requestOf(wish);
    const signal = AbortSignal.timeout(GIVE_UP_MS);
    const sent = { kind, replica: replica.name };
    this.journal.underWay.add(sent);
    const outcome = await replica
      .fetch(path, { ...init, signal })
      .then(read)
      .catch(failed);
    this.journal.underWay.delete(sent);
    const about = {
      kind,
      document: document.id,
      replica: replica.name,
      onceAsked: wish.question,
    };
    const operation = { ...about, sentAt, endedAt: Date.now(), ...outcome };
    this.journal.operations.push(operation);
    const wrong =
      outcome.wrong ??
      this.judgement(operation, this.journal, document.isBroken) ??
      tornPassages(operation, document);
    if (wrong !== undefined) {
      const when = new Date(sentAt).toISOString();
      this.journal.violation(
        `${when} ${kind} of ${document.id} at ${replica.name}: ${wrong}; the replica said last: ${replica.lastWords}`,
      );
    }
    return operation;
  }
}

type Outcome = Pick<Operation, 'status' | 'code' | 'body'> & { readonly wrong?: string };

async function read(response: Response): Promise<Outcome> {
  const { status, headers } = response;
  const text = await response.text();
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  if (status < 400) return { status, code: undefined, body };
  const code = codeOf(body);
  const type = headers.get('content-type') ?? '';
  const needsDelay = status === 423 || status === 503;
  if (!type.startsWith('application/problem+json')) {
    return { status, code, body, wrong: `a problem as ${type}` };
  }
  if (needsDelay && !(Number(headers.get('retry-after')) >= 1)) {
    return { status, code, body, wrong: `${status} ${code} without Retry-After` };
  }
  return { status, code, body };
}

function failed(error: unknown): Outcome {
  const reason = types.isNativeError(error) && error.cause !== undefined ? error.cause : error;
  return { status: undefined, code: String(reason), body: undefined };
}

function codeOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('code' in body)) return undefined;
  return String(body.code);
}

function requestOf({ kind, document, version = 0, question: once }: Wish): {
  path: string;
  init: RequestInit;
} {
  const path = `/documents/${document.id}`;
  const question = 'What does the document say of chapter 3?';
  switch (kind) {
    case 'upload':
      return { path, init: { method: 'PUT', ...document.upload(version) } };
    case 'process':
      return { path: `${path}/process`, init: { method: 'POST' } };
    case 'process-async':
      return {
        path: `${path}/process`,
        init: { method: 'POST', headers: { prefer: 'respond-async' } },
      };
    case 'search':
      return { path: `${path}/search?limit=50&q=${encodeURIComponent(question)}`, init: {} };
    case 'ask':
      return {
        path: `${path}/questions`,
        init: {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ question }),
        },
      };
    case 'ask-once':
      return {
        path: `${path}/questions`,
        init: {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': `"${once}"` },
          body: JSON.stringify({ question: once }),
        },
      };
    case 'archive':
      return { path: '/archive/run', init: { method: 'POST' } };
    case 'read':
      return { path, init: {} };
    case 'delete':
      return { path, init: { method: 'DELETE' } };
  }
}
