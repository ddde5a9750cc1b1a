import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VectorsUnavailableError } from '../../ports/vectors-unavailable.error.js';
import { ChromaHttp, ChromaNotFoundError, ChromaRefusedError } from './chroma-http.js';

describe('ChromaHttp', () => {
  let server: Server;
  let answer: { status: number; text: string; unfinished?: boolean };
  let asked: { url: string | undefined; authorization: string | undefined };
  let http: ChromaHttp;

  beforeEach(async () => {
    server = createServer((request, response) => {
      asked = { url: request.url, authorization: request.headers.authorization };
      response.writeHead(answer.status);
      if (answer.unfinished) response.write(answer.text);
      else response.end(answer.text);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    http = new ChromaHttp(`http://me:secret@127.0.0.1:${port}/base`, 300);
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const get = (path = 'heartbeat') => http.call({ method: 'GET', path });

  it('asks below the API or below the database, with the credentials', async () => {
    answer = { status: 200, text: '{"a":1}' };
    expect(await get()).toEqual({ a: 1 });
    expect(asked).toEqual({
      url: '/base/api/v2/heartbeat',
      authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
    });
    await get('/collections');
    expect(asked.url).toBe(
      '/base/api/v2/tenants/default_tenant/databases/default_database/collections',
    );
  });

  it.each([500, 503, 429, 401, 403, 408])(
    'counts %i as unavailable, and says so',
    async (status) => {
      answer = { status, text: 'because' };
      const error = await get().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(VectorsUnavailableError);
      expect(String(error)).toContain(`${status}: because`);
      expect(String(error)).not.toContain('secret');
    },
  );

  it.each([
    [404, ChromaNotFoundError],
    [400, ChromaRefusedError],
    [422, ChromaRefusedError],
  ])('tells %i apart', async (status, type) => {
    answer = { status, text: 'because' };
    await expect(get()).rejects.toBeInstanceOf(type);
  });

  it('counts an answer that is not JSON, or that never ends, as unavailable', async () => {
    answer = { status: 200, text: '<html>' };
    await expect(get()).rejects.toThrow(/not JSON/);
    answer = { status: 200, text: '{"a"', unfinished: true };
    await expect(get()).rejects.toThrow(/no answer within 300 ms/);
  });

  it('ends with the reason of the caller’s signal, before and during the call', async () => {
    answer = { status: 200, text: '{"a"', unfinished: true };
    const controller = new AbortController();
    const call = http.call({ method: 'GET', path: 'heartbeat', signal: controller.signal });
    controller.abort(new Error('lease lost'));
    await expect(call).rejects.toThrow('lease lost');
    await expect(
      http.call({ method: 'GET', path: 'heartbeat', signal: controller.signal }),
    ).rejects.toThrow('lease lost');
  });
});
