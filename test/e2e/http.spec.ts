import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';

describe('what all responses have in common', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp({ INSTANCE_ID: 'replica-7' });
  });

  afterAll(() => test.close());

  it('name the replica, and are problem+json when they fail', async () => {
    const cases = [
      [await request(test.url).get('/health/live'), 200, undefined],
      [await request(test.url).get('/health/ready'), 200, undefined],
      [await request(test.url).get('/nowhere'), 404, 'not_found'],
      [await request(test.url).get('/%E0%A4'), 400, 'bad_request'],
      [await request(test.url).delete('/health/live'), 405, 'method_not_allowed'],
    ] as const;
    for (const [response, status, code] of cases) {
      expect(response.status).toBe(status);
      expect(response.headers['x-served-by']).toBe('replica-7');
      if (code === undefined) continue;
      expect(response.headers['content-type']).toMatch(/^application\/problem\+json/);
      const body: unknown = JSON.parse(response.text);
      expect(body).toMatchObject({ status, code, type: `urn:doclock:problem:${code}` });
    }
    expect(cases[4][0].headers['allow']).toBe('GET, HEAD');
  });

  it('are problem+json also for what is no request', async () => {
    const port = Number(new URL(test.url).port);
    for (const [sent, status, code] of [
      ['GET / HTTP/1.1\r\nhost: a\r\nno colon\r\n\r\n', 400, 'bad_request'],
      [`GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
      ['GET /documents HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'bad_request'],
      [
        'GET /documents HTTP/1.1\r\nhost: a\r\nHOST: b\r\nconnection: close\r\n\r\n',
        400,
        'bad_request',
      ],
      [
        'GET /documents HTTP/1.1\r\nhost: a\r\nexpect: x\r\nconnection: close\r\n\r\n',
        417,
        'expectation_failed',
      ],
    ] as const) {
      const socket = connect(port, '127.0.0.1');
      socket.write(sent);
      const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(head).toContain('content-type: application/problem+json');
      expect(head).toContain('x-served-by: replica-7');
      expect(JSON.parse(body)).toMatchObject({ status, code });
    }
  });

  it('are as ever for HTTP/1.0 without a Host, and for who waits to be told to go on', async () => {
    const port = Number(new URL(test.url).port);
    const content = '{"title":"a","text":"t"}';
    const put = `PUT /documents/on HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${content.length}\r\n\r\n${content}`;
    for (const [sent, answer] of [
      ['GET /health/live HTTP/1.0\r\n\r\n', /^HTTP\/1.1 200 /],
      [put, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 /],
    ] as const) {
      const socket = connect(port, '127.0.0.1');
      socket.write(sent);
      expect(await text(socket)).toMatch(answer);
    }
  });

  it('are problem+json also where a request arrives when the server is closing already', async () => {
    await using closing = await startApp();
    const { server } = closing.app.getHttpAdapter().getInstance();
    const socket = connect(Number(new URL(closing.url).port), '127.0.0.1');
    socket.write('GET /documents HTTP/1.1\r\nhost: late\r\n');
    await eventually(async () => (await request(closing.url).get('/health/live')).ok);
    const answer = text(socket);
    const closed = closing.app.close();
    await eventually(() => !server.listening);
    socket.write('\r\n');
    expect(await answer).toMatch(/^HTTP\/1.1 503 [^]*"code":"shutting_down"/);
    expect(await answer).toMatch(/content-type: application\/problem\+json/i);
    await closed;
  });
});
