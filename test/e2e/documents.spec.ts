import { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import type { Response } from 'supertest';
import { ProgressStream } from '../../src/documents/progress-stream.js';
import { documentsOverHttp, expectProblem } from '../support/documents-over-http.js';
import { eventually } from '../support/eventually.js';
import { makePdf } from '../support/pdf.js';

documentsOverHttp((documents) => {
  const { api, putText, search } = documents;

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

  it('cuts no character of a title in two', async () => {
    const title = `a${'😀'.repeat(199)}`; // 200 characters, 399 units
    const kept = await api().post('/documents').send({ title, text: 'x' }).expect(201);
    expect(kept.body).toMatchObject({ title });
    const file = { filename: `${title}😀😀.txt`, contentType: 'text/plain' };
    const cut = await api().post('/documents').attach('file', Buffer.from('x'), file).expect(201);
    expect(cut.body).toMatchObject({ title });
    await api()
      .post('/documents')
      .send({ title: `${title}😀`, text: 'x' })
      .expect(400);
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

  it('takes ordinary words and 100 characters as ids', async () => {
    for (const id of ['undefined', 'null', 'a.b_c-d', 'x'.repeat(100)]) {
      await putText(id, id).expect(201);
      await api().post(`/documents/${id}/process`).expect(200);
    }
  });

  it('answers HEAD like GET, without holding a connection', async () => {
    const { test } = documents;
    await putText('head', 'x').expect(201);
    for (const path of ['', '/content', '/search?q=x']) {
      await api().head(`/documents/head${path}`).expect(200);
    }
    expectProblem(await api().post('/documents/head/events'), 405, 'method_not_allowed');
    const events = await fetch(`${test.url}/documents/head/events`, { method: 'HEAD' });
    expect(events.status).toBe(200);
    await eventually(() => test.app.get(ProgressStream, { strict: false }).watchedDocuments === 0);
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
