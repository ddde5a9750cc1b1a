import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Child } from '../../support/child.js';
import { type Answer, DocumentsClient } from '../../support/documents-client.js';

interface Service {
  readonly child: Child;
  readonly client: DocumentsClient;
}

/** kill -9 between the work and the record: the difference that one transaction makes. */
describe('a service that is killed in the middle of an idempotent request', () => {
  let dataDir: string;
  let service: Service;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'idempotent-'));
    service = await start();
    await service.client.put('facts', 'A text that nobody needs to search.');
  }, 60_000);

  afterAll(async () => {
    await service?.child.kill();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function start(): Promise<Service> {
    const child = Child.start('idempotent.mjs', {
      env: { DATA_DIR: dataDir, EMBED_WORKERS: '1', LOCK_STORE: 'memory' },
    });
    const url = (await child.says('listens ')).slice('listens '.length);
    return {
      child,
      client: new DocumentsClient({ fetch: (path, init) => fetch(url + path, init) }),
    };
  }

  const send = (path: string, key: string, body: object = {}) =>
    service.client.send<Record<string, unknown>>(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    });

  /** Has the service killed at that step of the request; gives the answer of its successor to a repetition. */
  async function killedAt(
    step: string,
    request: () => Promise<Answer<Record<string, unknown>>>,
  ): Promise<Answer<Record<string, unknown>>> {
    const { child } = service;
    child.tell(step);
    await child.says('will stop');
    const lost = request().catch(String);
    await child.says(`at ${step}`);
    await child.kill();
    expect(await lost).toMatch(/fetch failed|terminated/);
    service = await start();
    return request();
  }

  const conversations = async () =>
    (await service.client.send<{ items: unknown[] }>('/conversations')).body.items.length;

  it('before the one transaction of work and record ends, has done nothing; a retry does it', async () => {
    const ask = () => send('/documents/facts/questions', 'one', { question: 'One?' });
    const retried = await killedAt('record in transaction', ask);
    expect(retried.status).toBe(201);
    expect(retried.headers.get('idempotency-replayed')).toBeNull();
    expect(await conversations()).toBe(1);
  }, 60_000);

  it('after it, has done all; a retry gets the answer and does nothing', async () => {
    const before = await conversations();
    const ask = () => send('/documents/facts/questions', 'two', { question: 'Two?' });
    const retried = await killedAt('work committed', ask);
    expect(retried).toMatchObject({ status: 201, body: { question: 'Two?' } });
    expect(retried.headers.get('idempotency-replayed')).toBe('true');
    const location = retried.headers.get('location');
    expect((await service.client.send(String(location))).body).toEqual(retried.body);
    expect(await conversations()).toBe(before + 1);
  }, 60_000);

  it('between work and record that are two steps, is repeated, and the work bears it', async () => {
    const process = () => send('/documents/facts/process', 'three');
    const retried = await killedAt('record after work', process);
    expect(retried).toMatchObject({ status: 200, body: { unchanged: true } });
    expect(retried.headers.get('idempotency-replayed')).toBeNull();
    const again = await process();
    expect(again.body).toEqual(retried.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  }, 60_000);
});
