import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startApp, type TestApp } from '../support/app.js';

const api = 'an-api-token-for-tests';
const other = 'another-api-token-for-tests';
const admin = 'the-admin-token-for-tests';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const document = { title: 'A text', text: 'Some words.' };

/** Method, path, and what the least token that is enough is answered. */
const writes = [
  ['post', '/documents', 201],
  ['put', '/documents/w', 201],
  ['post', '/documents/w/process', 200],
  ['post', '/documents/w/questions', 400],
  ['delete', '/documents/w', 204],
] as const;
const administration = [
  ['get', '/locks', 200],
  ['get', '/locks/doc:none', 404],
  ['delete', '/locks/doc:none', 404],
  ['get', '/pool', 404],
  ['post', '/pool/0123456789ab/readmit', 404],
  ['post', '/archive/run', 200],
  ['get', '/archive/ticks', 200],
  ['get', '/archives', 200],
] as const;

describe('who may do what', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp({ API_TOKENS: `${api}, ${other}`, ADMIN_TOKEN: admin });
  });

  afterAll(() => test.close());

  const send = (method: 'get' | 'post' | 'put' | 'delete', path: string, token?: string) => {
    const client = request(test.url);
    const sent = client[method](path).set(token === undefined ? {} : bearer(token));
    return path.startsWith('/documents') && method !== 'delete' && !path.endsWith('process')
      ? sent.send(document)
      : sent;
  };

  it.each(writes)('needs a token to %s %s', async (method, path, status) => {
    const without = await send(method, path);
    expect(without).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(without.headers['www-authenticate']).toBe('Bearer realm="doclock"');
    const wrong = await send(method, path, 'not-a-token-of-ours');
    expect(wrong).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(wrong.headers['www-authenticate']).toContain('invalid_token');
    expect(wrong.text).not.toContain('not-a-token-of-ours');
    expect((await send(method, path, api)).status).toBe(status);
  });

  it.each(administration)('needs the admin token to %s %s', async (method, path, status) => {
    expect((await send(method, path)).status).toBe(401);
    const little = await send(method, path, api);
    expect(little).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(little.headers['www-authenticate']).toContain('insufficient_scope');
    expect((await send(method, path, admin)).status).toBe(status);
  });

  it('needs none to read, to see whether it lives, or to find out that there is nothing', async () => {
    for (const [path, status] of [
      ['/documents', 200],
      ['/documents/none', 404],
      ['/conversations', 200],
      ['/health/live', 200],
      ['/nowhere', 404],
    ] as const) {
      expect((await send('get', path)).status).toBe(status);
    }
    expect((await send('post', '/documents/none')).status).toBe(405);
  });

  it('is found out before the body is read', async () => {
    const broken = await request(test.url)
      .put('/documents/broken')
      .set('content-type', 'application/json')
      .send('{"title":');
    expect(broken.status).toBe(401);
  });

  it('gives keys of different principals to different operations', async () => {
    const create = (token: string) =>
      request(test.url)
        .post('/documents')
        .set({ ...bearer(token), 'idempotency-key': 'same' })
        .send(document);
    const [first, again, others] = [await create(api), await create(api), await create(other)];
    expect([first.status, again.status, others.status]).toEqual([201, 201, 201]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(others.headers['idempotency-replayed']).toBeUndefined();
    expect(others.body).not.toEqual(first.body);
  });
});

describe('without an admin token', () => {
  it('nobody looks after locks and archives', async () => {
    await using test = await startApp({ API_TOKENS: api });
    expect((await request(test.url).get('/locks')).status).toBe(401);
    expect((await request(test.url).get('/locks').set(bearer(api))).status).toBe(403);
  });
});

describe('without any token', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp();
  });

  afterAll(() => test.close());

  it('everybody may do everything', async () => {
    expect((await request(test.url).put('/documents/open').send(document)).status).toBe(201);
    expect((await request(test.url).get('/locks')).status).toBe(200);
  });

  it('a page of another site cannot use the browser of somebody who may', async () => {
    const forged = await request(test.url)
      .post('/documents/open/process')
      .set({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' });
    expect(forged).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const read = await request(test.url).get('/documents').set({ origin: 'https://evil.example' });
    expect(read.status).toBe(200);
    expect(read.headers['access-control-allow-origin']).toBeUndefined();
    const asked = await request(test.url)
      .options('/documents/open')
      .set({ origin: 'https://evil.example', 'access-control-request-method': 'DELETE' });
    expect(asked.headers['access-control-allow-methods']).toBeUndefined();
  });
});
