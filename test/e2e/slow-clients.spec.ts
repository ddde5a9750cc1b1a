import { type Server } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import request from 'supertest';
import { startApp, type TestApp } from '../support/app.js';

const token = 'a-token-for-slow-clients';
const authorization = `authorization: Bearer ${token}`;
const boundary = 'edge';

/** Far less than the service gives a client; one that sends a byte at a time needs more for anything. */
const LIMIT_MS = 1_500;
const DRIP_MS = 50;

describe('clients that are slow', () => {
  let test: TestApp;
  let server: Server;
  const faults: unknown[] = [];

  beforeAll(async () => {
    test = await startApp({ INSTANCE_ID: 'replica-7', API_TOKENS: token });
    server = test.app.getHttpServer();
    const note = (message: unknown) => faults.push(message);
    Logger.overrideLogger({ log: () => undefined, error: note, warn: note });
  });

  afterAll(() => test.close());

  /** Sends `head` and then a byte at a time. Gives all that came back by the end of the connection. */
  const drip = (head: readonly string[], byte = 'x') =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
      let received = '';
      socket.on('data', (data: Buffer) => (received += data.toString()));
      // What is still sent when the server has gone is refused: that is the end, too.
      socket.on('error', () => socket.destroy());
      socket.write(head.join('\r\n'));
      const timer = setInterval(() => socket.write(byte), DRIP_MS);
      socket.on('close', () => {
        clearInterval(timer);
        resolve(received);
      });
    });

  const withinLimit = async <T>(work: () => Promise<T>): Promise<T> => {
    const { headersTimeout, requestTimeout } = server;
    const startedAt = performance.now();
    Object.assign(server, { headersTimeout: LIMIT_MS, requestTimeout: LIMIT_MS });
    try {
      const done = await work();
      // Node looks for them every 30 s unless it is told otherwise.
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      return done;
    } finally {
      Object.assign(server, { headersTimeout, requestTimeout });
    }
  };

  const document = { title: 'A', text: 'A text.' };
  const api = () => request(test.url);
  const create = (key: string) =>
    api()
      .post('/documents')
      .set({ authorization: `Bearer ${token}`, 'idempotency-key': key })
      .send(document);

  it('have a minute for headers and five for all', () => {
    expect(server.headersTimeout).toBe(60_000);
    expect(server.requestTimeout).toBe(300_000);
  });

  it('are answered 408 for headers or a body that never ends, and leave nothing behind', async () => {
    const host = 'host: a';
    const json = ['content-type: application/json', 'content-length: 5000'];
    const form = [
      `content-type: multipart/form-data; boundary=${boundary}`,
      'content-length: 5000',
    ];
    const part = 'content-disposition: form-data; name="file"; filename="a.txt"';
    const answers = await withinLimit(() =>
      Promise.all([
        drip(['GET /documents HTTP/1.1', host, 'x-slow: ']),
        drip(['PUT /documents/slow HTTP/1.1', host, authorization, ...json, '', '{"title":"']),
        drip([
          'POST /documents HTTP/1.1',
          ...[host, authorization, 'idempotency-key: "slow-form"', ...form],
          ...['', `--${boundary}`, part, 'content-type: text/plain', '', 'A '],
        ]),
        drip([
          'POST /documents HTTP/1.1',
          ...[host, authorization, 'idempotency-key: "slow-json"', ...json, '', '{"title":"'],
        ]),
      ]),
    );
    for (const answer of answers) {
      const [head = '', body = '', ...more] = answer.split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(head).toContain('content-type: application/problem+json');
      expect(head).toContain('x-served-by: replica-7');
      expect(head).toContain('connection: close');
      expect(JSON.parse(body)).toMatchObject({ status: 408, code: 'request_timeout' });
      expect(more).toEqual([]);
    }
    await api().get('/documents/slow').expect(404);
    expect((await api().get('/documents').expect(200)).body).toMatchObject({ items: [] });
    for (const key of ['"slow-form"', '"slow-json"']) {
      const whole = await create(key);
      expect(whole.status).toBe(201);
      expect(whole.headers['idempotency-replayed']).toBeUndefined();
    }
    expect(faults).toEqual([]);
  }, 60_000);

  it('get no second answer to what was answered already', async () => {
    const answer = await withinLimit(() =>
      drip(['PUT /documents/x HTTP/1.1', 'host: a', 'content-length: 5000', '', '{"title":"']),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  }, 60_000);

  it('get nothing into an answer that is under way, for half a request behind it', async () => {
    await api()
      .put('/documents/watched')
      .set({ authorization: `Bearer ${token}` })
      .send(document)
      .expect(201);
    const answer = await withinLimit(() =>
      drip([
        'GET /documents/watched/events HTTP/1.1',
        ...['host: a', '', 'GET /health/live HTTP/1.1', 'x-slow: '],
      ]),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*text\/event-stream/);
    expect(answer).not.toContain('request_timeout');
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  }, 60_000);
});
