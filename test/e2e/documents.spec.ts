import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request, { type Response } from 'supertest';
import { type DatabaseDialect } from '../../src/database/index.js';
import { ProgressStream } from '../../src/documents/progress-stream.js';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { makePdf, truncate } from '../support/pdf.js';
import { type PostgresServer, startPostgres } from '../support/postgres.js';

interface Search {
  passages: { page: number | null; text: string; score: number }[];
}

const dialects: readonly DatabaseDialect[] = ['sqlite', 'postgres'];

describe.each(dialects)('documents over HTTP, kept in %s', (dialect) => {
  let postgres: PostgresServer | undefined;
  let test: TestApp;

  beforeAll(async () => {
    if (dialect === 'postgres') postgres = await startPostgres();
    test = await startApp({
      UPLOAD_LIMIT_MB: '1',
      CHUNK_SIZE: '120',
      CHUNK_OVERLAP: '20',
      EMBED_WORKERS: '1',
      ...(postgres && { DATABASE_URL: postgres.url, LOCK_STORE: 'memory' }),
    });
  });

  afterAll(async () => {
    await test?.close();
    await postgres?.stop();
  });

  const api = () => request(test.url);
  const putText = (id: string, text: string, title = 'A text') =>
    api().put(`/documents/${id}`).send({ title, text });
  const search = async (id: string, q: string) => {
    const response = await api().get(`/documents/${id}/search`).query({ q }).expect(200);
    const body: Search = response.body;
    return body.passages;
  };
  const expectProblem = (response: Response, status: number, code: string) => {
    expect(response.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(response.body).toMatchObject({ status, code, type: `urn:doclock:problem:${code}` });
    expect(response.status).toBe(status);
    expect(response.headers['x-served-by']).toBeDefined();
  };

  it('takes a PDF in, processes it once, finds its pages and deletes it', async () => {
    const pdf = await makePdf([
      'Coffee beans are roasted at two hundred degrees until they crack.',
      { blank: true },
      'The lighthouse keeper writes down every ship that passes at night.',
    ]);
    const file = { filename: 'guide.pdf', contentType: 'application/octet-stream' };
    const created = await api().post('/documents').attach('file', pdf, file).expect(201);
    const { id }: { id: string } = created.body;
    expect(created.headers['location']).toBe(`/documents/${id}`);
    expect(created.body).toMatchObject({
      title: 'guide.pdf',
      mediaType: 'application/pdf',
      sizeBytes: pdf.length,
      state: 'uploaded',
      progress: null,
      pages: null,
      processedAt: null,
    });
    expect(await search(id, 'coffee')).toEqual([]);

    const processed = await api()
      .post(`/documents/${id}/process`)
      .set('content-type', 'application/json')
      .expect(200);
    expect(processed.body).toEqual({
      status: 'ok',
      id,
      pages: 3,
      chunks: 2,
      fence: expect.stringMatching(/^\d{16}$/),
      unchanged: false,
    });
    const { body } = await api().get(`/documents/${id}`).expect(200);
    const { fence }: { fence: string } = processed.body;
    expect(body).toMatchObject({ state: 'ready', progress: null, pages: 3, chunks: 2, fence });

    const [best, second] = await search(id, 'What do sailors see in the dark?');
    expect(best).toMatchObject({ page: 3, text: expect.stringContaining('lighthouse') });
    expect(second).toMatchObject({ page: 1 });
    expect(best!.score).toBeGreaterThan(second!.score);

    const content = await api().get(`/documents/${id}/content`).buffer().parse(raw).expect(200);
    expect(content.headers['content-type']).toBe('application/pdf');
    expect(content.headers['x-content-type-options']).toBe('nosniff');
    expect(pdf.equals(content.body)).toBe(true);

    const again = await api().post(`/documents/${id}/process`).expect(200);
    expect(again.body).toMatchObject({ status: 'ok', pages: 3, chunks: 2, unchanged: true });

    await api().delete(`/documents/${id}`).expect(204);
    for (const path of ['', '/content', '/search?q=a', '/events']) {
      expectProblem(await api().get(`/documents/${id}${path}`), 404, 'document_not_found');
    }
    expectProblem(await api().delete(`/documents/${id}`), 404, 'document_not_found');
    expectProblem(await api().post(`/documents/${id}/process`), 404, 'document_not_found');
  });

  it('keeps a document under the caller’s id, and leaves no passage of a longer first version', async () => {
    const long = Array.from({ length: 12 }, (_, i) => `Paragraph ${i} is about whales.`);
    const first = await putText('1001', long.join('\n\n')).expect(201);
    expect(first.headers['location']).toBe('/documents/1001');
    await api().post('/documents/1001/process').expect(200);
    expect((await search('1001', 'whales')).length).toBeGreaterThan(1);

    const second = await putText('1001', 'Only one line about owls.').expect(200);
    expect(second.body).toMatchObject({ state: 'uploaded' });
    await api().post('/documents/1001/process').expect(200);
    expect(await search('1001', 'whales')).toEqual([
      expect.objectContaining({ text: 'Only one line about owls.', page: null }),
    ]);

    await putText('1001', 'Only one line about owls.').expect(200);
    const again = await api().post('/documents/1001/process').expect(200);
    expect(again.body).toMatchObject({ unchanged: true, chunks: 1 });

    await api().delete('/documents/1001').expect(204);
    const reborn = await putText('1001', 'A new life.').expect(201);
    expect(reborn.body).toMatchObject({ state: 'uploaded', chunks: null });
    expect(await search('1001', 'owls')).toEqual([]);
  });

  it('raises the fence with every change', async () => {
    const fences: bigint[] = [];
    for (const text of ['one', 'two']) {
      const { body: put }: { body: { fence: string } } = await putText('fences', text);
      const { body: run }: { body: { fence: string } } = await api().post(
        '/documents/fences/process',
      );
      fences.push(BigInt(put.fence), BigInt(run.fence));
    }
    expect(fences).toEqual([...fences].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(fences).size).toBe(4);
  });

  it('strips NUL, and makes no passage of white space', async () => {
    await putText('nul', 'be\0fore\0', 'ti\0tle').expect(201);
    const { body } = await api().get('/documents/nul');
    expect(body).toMatchObject({ title: 'ti tle', sizeBytes: 6 });
    await api().post('/documents/nul/process').expect(200);
    expect((await search('nul', 'x')).map(({ text }) => text)).toEqual(['before']);
    await putText('blank', ' \n\n \t').expect(201);
    const run = await api().post('/documents/blank/process').expect(200);
    expect(run.body).toMatchObject({ pages: 1, chunks: 0 });
    expect(await search('blank', 'x')).toEqual([]);
  });

  it('takes a form with a title, and Markdown by its extension', async () => {
    const response = await api()
      .put('/documents/notes')
      .field('title', 'My notes')
      .attach('file', Buffer.from('# Head\n\ntext'), {
        filename: 'a.md',
        contentType: 'application/octet-stream',
      })
      .expect(201);
    expect(response.body).toMatchObject({ title: 'My notes', mediaType: 'text/markdown' });
    const content = await api().get('/documents/notes/content').expect(200);
    expect(content.headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect(content.text).toBe('# Head\n\ntext');
  });

  it('lists documents page by page', async () => {
    for (const id of ['list-1', 'list-2', 'list-3']) await putText(id, id).expect(201);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await api()
        .get('/documents')
        .query({ limit: 2, ...(cursor && { cursor }) })
        .expect(200);
      const body: { items: { id: string }[]; nextCursor: string | null } = page.body;
      seen.push(...body.items.map(({ id }) => id));
      cursor = body.nextCursor;
    }
    expect(seen).toEqual(expect.arrayContaining(['list-1', 'list-2', 'list-3']));
    expect(new Set(seen).size).toBe(seen.length);
    expectProblem(await api().get('/documents?cursor=x'), 400, 'invalid_cursor');
    expectProblem(await api().get('/documents?limit=0'), 400, 'validation_failed');
    expectProblem(await api().get('/documents?limit=2&colour=red'), 400, 'validation_failed');
  });

  it('answers 422 for a PDF that cannot be read, says why, and recovers', async () => {
    const pdf = await makePdf(['Some text.']);
    const attach = (bytes: Buffer) =>
      api()
        .put('/documents/broken')
        .attach('file', bytes, { filename: 'a.pdf', contentType: 'application/pdf' });
    await attach(truncate(pdf, 0.2)).expect(201);
    expectProblem(await api().post('/documents/broken/process'), 422, 'unreadable_document');
    const { body } = await api().get('/documents/broken');
    expect(body).toMatchObject({
      state: 'failed',
      progress: { stage: 'extract' },
      error: { code: 'unreadable_document' },
    });
    await attach(await makePdf(['x'], { password: 'secret' })).expect(200);
    expectProblem(await api().post('/documents/broken/process'), 422, 'unreadable_document');
    await attach(pdf).expect(200);
    await api().post('/documents/broken/process').expect(200);
  });

  it('answers 413 for what is too large', async () => {
    const large = Buffer.alloc(1024 * 1024 + 1, 'a');
    const file = { filename: 'a.txt', contentType: 'text/plain' };
    expectProblem(
      await api().post('/documents').attach('file', large, file),
      413,
      'payload_too_large',
    );
    const json = await putText('large', large.toString());
    expectProblem(json, 413, 'payload_too_large');
    await api().get('/documents/large').expect(404);
  });

  it('answers 415 for what is no document', async () => {
    const attach = (bytes: Buffer, contentType: string, filename = 'a.pdf') =>
      api().post('/documents').attach('file', bytes, { filename, contentType });
    const text = Buffer.from('text');
    for (const response of [
      await attach(text, 'application/pdf'),
      await attach(text, 'image/png'),
      await attach(text, 'application/octet-stream', 'a.exe'),
      await api().post('/documents').set('content-type', 'text/plain').send('text'),
      await api().post('/documents').set('content-type', 'application/xml').send('<a/>'),
      await api().post('/documents'),
      await api().put('/documents/none'),
    ]) {
      expectProblem(response, 415, 'unsupported_media_type');
    }
  });

  it('answers 400 for what is malformed, naming the fields', async () => {
    const json = (body: string) =>
      api().post('/documents').set('content-type', 'application/json').send(body);
    for (const body of ['{bad', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{}}}']) {
      expectProblem(await json(body), 400, 'bad_request');
    }
    for (const [body, field] of [
      ['', 'title'],
      ['{"title":"t"}', 'text'],
      ['{"title":"","text":"x"}', 'title'],
      ['{"title":"t","text":"x","colour":1}', 'colour'],
      ['{"title":"t","text":5}', 'text'],
    ] as const) {
      const response = await json(body);
      expectProblem(response, 400, 'validation_failed');
      const { errors }: { errors: { field: string }[] } = response.body;
      expect(errors.map((error) => error.field)).toContain(field);
    }
    expectProblem(await api().post('/documents').field('title', 'no file'), 400, 'bad_request');
    const file = { filename: 'a.txt', contentType: 'text/plain' };
    const two = api().post('/documents').attach('file', Buffer.from('a'), file);
    expectProblem(await two.attach('file', Buffer.from('b'), file), 400, 'bad_request');
    const other = api().post('/documents').attach('document', Buffer.from('a'), file);
    expectProblem(await other, 400, 'bad_request');
    expectProblem(await api().get('/documents/nul/search'), 400, 'validation_failed');
    expectProblem(await api().get('/documents/nul/search?q=%20'), 400, 'validation_failed');
  });

  it.each([
    '-a',
    '.a',
    'a%2Fb',
    '..%2f..%2fetc',
    'a%00',
    'a%0Ab',
    '%20',
    'a%252Fb',
    'é',
    'x'.repeat(101),
  ])('answers 400 for the id %s, on every route', async (id) => {
    const path = `/documents/${id === 'é' ? encodeURIComponent(id) : id}`;
    for (const response of [
      await api().get(path),
      await api().put(path).send({ title: 't', text: 'x' }),
      await api().delete(path),
      await api().post(`${path}/process`),
      await api().get(`${path}/content`),
      await api().get(`${path}/events`),
      await api().get(`${path}/search?q=a`),
    ]) {
      expectProblem(response, 400, 'validation_failed');
    }
  });

  it('takes ordinary words and 100 characters as ids', async () => {
    for (const id of ['undefined', 'null', 'a.b_c-d', 'x'.repeat(100)]) {
      await putText(id, id).expect(201);
      await api().post(`/documents/${id}/process`).expect(200);
    }
  });

  it('answers HEAD like GET, without holding a connection', async () => {
    await putText('head', 'x').expect(201);
    for (const path of ['', '/content', '/search?q=x']) {
      await api().head(`/documents/head${path}`).expect(200);
    }
    expectProblem(await api().post('/documents/head/events'), 405, 'method_not_allowed');
    const events = await fetch(`${test.url}/documents/head/events`, { method: 'HEAD' });
    expect(events.status).toBe(200);
    await eventually(() => test.app.get(ProgressStream, { strict: false }).watchedDocuments === 0);
  });

  it('answers 404 and 405 where there is nothing to be had', async () => {
    expectProblem(await api().get('/nothing'), 404, 'not_found');
    expectProblem(await api().post('/documents/nobody/process'), 404, 'document_not_found');
    const wrong = await api().patch('/documents/1001');
    expectProblem(wrong, 405, 'method_not_allowed');
    expect(wrong.headers['allow']).toBe('DELETE, GET, HEAD, PUT');
  });
});

/** A parser that leaves the bytes as they are; at run time superagent passes the raw stream. */
function raw(response: Response, done: (error: Error | null, body: Buffer) => void): void {
  const stream: unknown = response;
  if (!(stream instanceof Readable)) throw new TypeError('The response is no stream.');
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  stream.on('end', () => done(null, Buffer.concat(parts)));
}
