import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import request from 'supertest';
import { startApp } from '../support/app.js';
import { LlmStub } from '../support/llm-stub.js';

let stub: LlmStub;
let dataDir: string;

beforeAll(async () => {
  stub = await LlmStub.start();
  dataDir = await mkdtemp(join(tmpdir(), 'embedders-'));
});

afterAll(async () => {
  await stub?.[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

/** The service over the same data, with that model for its embeddings; all of them give eight numbers. */
const startWith = (model: string) =>
  startApp({
    DATA_DIR: dataDir,
    LLM_BASE_URL: stub.url,
    LLM_API_KEYS: 'sk-secret-key',
    LLM_CHAT_MODEL: 'small',
    EMBEDDER: 'llm',
    LLM_EMBED_MODEL: model,
    LLM_EMBED_DIMENSIONS: '8',
  });

it('passages of another model are never compared with a question: 409 until the document is processed again', async () => {
  {
    await using service = await startWith('first');
    const api = request(service.url);
    await api.put('/documents/whales').send({ title: 'A', text: 'Whales breathe air.' });
    await api.post('/documents/whales/process').expect(200);
    await api.get('/documents/whales/search?q=air').expect(200);
  }
  await using service = await startWith('second');
  const api = request(service.url);
  stub.forget();
  const search = () => api.get('/documents/whales/search?q=air');
  const ask = () => api.post('/documents/whales/questions').send({ question: 'Who breathes?' });
  for (const refused of [await search(), await ask()]) {
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({
      code: 'embedder_changed',
      detail: expect.stringContaining('POST /documents/whales/process'),
    });
  }
  expect(stub.requests).toHaveLength(0);
  await api.post('/documents/whales/process').expect(200);
  expect((await search().expect(200)).body).toMatchObject({
    passages: [{ text: 'Whales breathe air.' }],
  });
  await ask().expect(201);
});
