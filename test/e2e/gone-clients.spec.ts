import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { Agent, type ClientRequest, request } from 'node:http';
import { type Server, type Socket } from 'node:net';
import { type KeyPool } from '../../src/key-pool/index.js';
import { LLM, type Llm } from '../../src/llm/index.js';
import { LockService } from '../../src/lock/index.js';
import { startApp, type TestApp } from '../support/app.js';
import { DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { LlmStub } from '../support/llm-stub.js';

/** Calls of a method that waits, and how they have ended so far. */
class Waits {
  called = 0;
  readonly failures: string[] = [];

  /** To be put in the place of a method. */
  around<A extends unknown[], T>(method: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return (...args) => {
      this.called += 1;
      const result = method(...args);
      result.catch((error: Error) => this.failures.push(error.name));
      return result;
    };
  }
}

let stub: LlmStub;
let service: TestApp;
let documents: DocumentsClient;
let ghosts: ClientRequest[];

beforeEach(async () => {
  stub = await LlmStub.start();
  service = await startApp({
    LOCK_WAIT_MS: '60000',
    LLM_BASE_URL: stub.url,
    LLM_API_KEYS: 'sk-the-only-key',
    LLM_CHAT_MODEL: 'small',
    LLM_WAIT_MS: '60000',
    EMBED_WORKERS: '1',
    RATE_LIMIT_PER_MINUTE: '0',
  });
  documents = new DocumentsClient({ fetch: (path, init) => fetch(service.url + path, init) });
  await documents.put('facts', 'Whales breathe air.');
  await documents.processed('facts');
  ghosts = [];
});

afterEach(async () => {
  for (const ghost of ghosts) ghost.destroy();
  jest.restoreAllMocks();
  await service.close();
  await stub[Symbol.asyncDispose]();
});

/** A client that asks, and of whose answer nobody will hear. */
function haunt(path: string, body: object | undefined, headers: Record<string, string> = {}) {
  const type = body ? { 'content-type': 'application/json' } : {};
  const asked = request(service.url + path, { method: 'POST', headers: { ...type, ...headers } });
  asked.on('error', () => 'it was destroyed');
  asked.end(body && JSON.stringify(body));
  ghosts.push(asked);
}

function goAway(): void {
  for (const ghost of ghosts.splice(0)) ghost.destroy();
}

const gone = (count: number) => Array.from({ length: count }, () => 'ClientGoneError');

describe('a client that goes while it waits for the lock of a document', () => {
  let waits: Waits;
  let granted: number;
  let release: () => Promise<unknown>;

  beforeEach(async () => {
    const locks = service.app.get(LockService);
    const lease = await locks.acquire('doc:facts');
    release = () => lease.release();
    granted = 0;
    locks.events.on('granted', ({ name }) => (granted += name === 'doc:facts' ? 1 : 0));
    waits = new Waits();
    const hold = locks.hold.bind(locks);
    jest.spyOn(locks, 'hold').mockImplementation(waits.around(hold));
  });

  const waiting = (count: number) =>
    eventually(() => waits.called === count, { what: `${count} requests to wait for the lock` });

  it('leaves the queue at once, so that the one who waits behind it is the next to be served', async () => {
    for (const body of [undefined, {}, undefined, {}]) haunt('/documents/facts/process', body);
    await waiting(4);
    const living = documents.process('facts');
    await waiting(5);
    goAway();
    await eventually(() => waits.failures.length === 4, { what: 'the four to leave the queue' });
    expect(waits.failures).toEqual(gone(4));
    expect(granted).toBe(0);
    await release();
    expect(await living).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(granted).toBe(1);
  });

  it('stays in the queue with an Idempotency-Key, whose answer is kept for its repetition', async () => {
    const headers = { 'idempotency-key': 'process-the-facts' };
    haunt('/documents/facts/process', undefined, headers);
    await waiting(1);
    haunt('/documents/facts/process', undefined);
    await waiting(2);
    goAway();
    await eventually(() => waits.failures.length === 1, { what: 'the other to leave the queue' });
    await release();
    await eventually(() => granted === 1, { what: 'the one with the key to be served' });
    const again = await eventually(async () => {
      const answer = await documents.process('facts', { headers });
      return answer.status === 200 && answer;
    });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(granted).toBe(1);
  });

  it('stops nothing when its work has begun', async () => {
    await release();
    let isReleased = false;
    service.app.get(LockService).events.on('released', () => (isReleased = true));
    haunt('/documents/facts/process', undefined);
    await eventually(() => granted === 1, { what: 'the work to begin' });
    goAway();
    await eventually(() => isReleased, { what: 'the work to end' });
    expect(await documents.send('/documents/facts')).toMatchObject({ body: { state: 'ready' } });
    expect(waits.failures).toEqual([]);
  });
});

describe('a client that goes while it waits for a key of the language model', () => {
  it('leaves the queue, and the key that becomes free goes to the one who waits', async () => {
    const waits = new Waits();
    const { client } = service.app.get<Llm>(LLM);
    const { pool } = (client as unknown as { options: { pool: KeyPool } }).options;
    const take = pool.take.bind(pool);
    jest.spyOn(pool, 'take').mockImplementation(waits.around(take));
    let answerFirst = () => {};
    const when = new Promise<void>((resolve) => (answerFirst = resolve));
    stub.treat = (_key, n) => (n === 0 ? { kind: 'answer', when } : { kind: 'answer' });
    const ask = () =>
      documents.send('/documents/facts/questions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ question: 'Who breathes air?' }),
      });
    const first = ask();
    await eventually(() => stub.requests.length === 1, { what: 'the first to be asked' });
    for (let i = 0; i < 3; i += 1) haunt('/documents/facts/questions', { question: 'Who?' });
    await eventually(() => waits.called === 4, { what: 'three to wait for the key' });
    const living = ask();
    await eventually(() => waits.called === 5, { what: 'the living one to wait for the key' });
    goAway();
    await eventually(() => waits.failures.length === 3, { what: 'the three to leave the queue' });
    expect(waits.failures).toEqual(gone(3));
    answerFirst();
    expect(await first).toMatchObject({ status: 201 });
    expect(await living).toMatchObject({ status: 201 });
    expect(stub.requests).toHaveLength(2);
  });
});

describe('a connection that serves several requests', () => {
  it('keeps nothing of those that were answered', async () => {
    const sockets: Socket[] = [];
    const server = service.app.getHttpServer() as Server;
    server.on('connection', (socket: Socket) => sockets.push(socket));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const counts: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      const asked = request(`${service.url}/documents/facts/process`, { method: 'POST', agent });
      asked.end();
      const [response] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
      response.resume();
      await once(response, 'end');
      counts.push(sockets[0]?.listenerCount('close') ?? 0);
    }
    agent.destroy();
    expect(sockets).toHaveLength(1);
    expect(new Set(counts.slice(1)).size).toBe(1);
  });
});
