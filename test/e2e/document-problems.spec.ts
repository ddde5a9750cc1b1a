import { expect, it } from '@jest/globals';
import { documentsOverHttp, expectProblem } from '../support/documents-over-http.js';
import { makePdf, truncate } from '../support/pdf.js';

documentsOverHttp(({ api, putText }) => {
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

  it.each(['/documents/form/process', '/documents/form/questions', '/archive/run'])(
    'answers 415 for a form to %s, which takes none',
    async (path) => {
      const file = { filename: 'a.txt', contentType: 'text/plain' };
      const send = (size: number) => api().post(path).attach('file', Buffer.alloc(size, 'a'), file);
      const responses = [
        await send(10),
        await send(10).set('idempotency-key', 'form'),
        await send(17_000),
        await api().post(path).set('content-type', 'Multipart/form-data; boundary=a').send('--a--'),
      ];
      for (const response of responses) {
        expectProblem(response, 415, 'unsupported_media_type');
        expect((response.body as { detail: string }).detail).toContain('No form is taken here.');
      }
    },
  );

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

  it('answers 404 and 405 where there is nothing to be had', async () => {
    for (const path of ['/nothing', '/docs/nothing', '/docs/..%2fsecret']) {
      const nothing = await api().get(path);
      expectProblem(nothing, 404, 'not_found');
      expect(nothing.headers['allow']).toBeUndefined();
    }
    expectProblem(await api().post('/documents/nobody/process'), 404, 'document_not_found');
    const wrong = await api().patch('/documents/1001');
    expectProblem(wrong, 405, 'method_not_allowed');
    expect(wrong.headers['allow']).toBe('DELETE, GET, HEAD, PUT');
  });
});
