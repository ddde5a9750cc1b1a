import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { makePdf, rawPdf } from '../support/pdf.js';
import { type RedisServer, startRedis } from '../support/redis.js';

describe('rate limits, counted by each replica', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp({
      RATE_LIMIT_PER_MINUTE: '4',
      TRUST_PROXY: 'loopback',
      API_TOKENS: 'the-first-token-here,the-second-token-here',
    });
  });

  afterAll(() => test.close());

  const process = (headers: Record<string, string>) =>
    request(test.url).post('/documents/none/process').set(headers);
  const by = (which: string) => ({ authorization: `Bearer the-${which}-token-here` });

  it('give every client a budget for each route', async () => {
    for (let sent = 0; sent < 4; sent += 1) expect((await process(by('first'))).status).toBe(404);
    const refused = await process(by('first'));
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', status: 429 } });
    expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect((await process(by('second'))).status).toBe(404);
    expect((await request(test.url).delete('/documents/none').set(by('first'))).status).toBe(404);
  });

  it('count those who guess tokens, by their address', async () => {
    const guess = (address: string, n: number) =>
      process({ 'x-forwarded-for': address, authorization: `Bearer guess-${n}` });
    for (let sent = 0; sent < 4; sent += 1) {
      expect((await guess(`2001:db8::${sent}`, sent)).status).toBe(401);
    }
    expect((await guess('2001:db8::ffff', 5)).status).toBe(429); // of the same network
    expect((await guess('192.0.2.1', 6)).status).toBe(401);
  });

  it('let reading have more, and health checks all they want', async () => {
    for (let sent = 0; sent < 20; sent += 1) {
      await request(test.url).get('/documents/none').expect(404);
    }
    await request(test.url).get('/documents/none').expect(429);
    for (let sent = 0; sent < 25; sent += 1)
      await request(test.url).get('/health/live').expect(200);
  });

  it('count HEAD with GET', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address });
    for (let sent = 0; sent < 10; sent += 1) {
      await request(test.url).get('/documents').set(from('192.0.2.9')).expect(200);
      await request(test.url).head('/documents').set(from('192.0.2.9')).expect(200);
    }
    await request(test.url).head('/documents').set(from('192.0.2.9')).expect(429);
    await request(test.url).get('/documents').set(from('192.0.2.9')).expect(429);
    await request(test.url).head('/documents').set(from('192.0.2.10')).expect(200);
  });
});

describe('addresses where nothing is', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp({
      RATE_LIMIT_PER_MINUTE: '4',
      TRUST_PROXY: 'loopback',
      API_TOKENS: 'the-first-token-here',
    });
  });

  afterAll(() => test.close());

  it.each([
    ['POST', '/nothing', 404, 'not_found'],
    ['DELETE', '/health/live', 405, 'method_not_allowed'],
    ['POST', '/documents', 401, 'unauthorized'],
  ])('answer %s %s before the body comes, and end the connection', async (method, path, ...is) => {
    const [status, code] = is;
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
    socket.write(
      `${method} ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 19000000\r\n\r\n{`,
    );
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/connection: close/i);
    expect(JSON.parse(body)).toMatchObject({ status, code });
  });

  it('are found in vain a limited number of times', async () => {
    const ask = (path: string, address: string) =>
      request(test.url).get(path).set('x-forwarded-for', address);
    for (let sent = 0; sent < 20; sent += 1) {
      expect((await ask(`/nothing/${sent}`, '192.0.2.7')).status).toBe(404);
    }
    const refused = await ask('/nowhere', '192.0.2.7');
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    const otherMethod = await request(test.url)
      .delete('/health/live')
      .set('x-forwarded-for', '192.0.2.7');
    expect(otherMethod.status).toBe(429);
    expect((await ask('/nowhere', '192.0.2.8')).status).toBe(404);
    expect((await ask('/documents', '192.0.2.7')).status).toBe(200);
  });
});

describe('rate limits, counted in Redis', () => {
  let redis: RedisServer;
  let keys: Redis;
  let apps: TestApp[];

  beforeAll(async () => {
    redis = await startRedis();
    keys = new Redis(redis.url, { retryStrategy: () => 50 });
    keys.on('error', () => undefined); // it is killed on purpose
    const settings = { REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: '3' };
    apps = await Promise.all([startApp(settings), startApp(settings)]);
  });

  afterAll(async () => {
    for (const app of apps ?? []) await app.close();
    keys?.disconnect();
    await redis?.stop();
  });

  const process = (at: number, key: string) =>
    request(apps[at]!.url).post('/documents/none/process').set('idempotency-key', key);

  const refusedAt = (at: number, key: string) =>
    eventually(
      async () => {
        const answer = await process(at, key);
        return answer.status === 429 && answer;
      },
      { timeoutMs: 20_000, what: `replica ${at} to refuse` },
    );

  it('are common to all replicas, and Retry-After is true', async () => {
    await refusedAt(0, 'a');
    const [counter = ''] = await keys.keys('rate:*process*');
    await keys.set(counter, 100, 'PX', 50_000); // as if others had asked a hundred times
    const refused = await refusedAt(1, 'b');
    const seconds = Number(refused.headers['retry-after']);
    const leftMs = await keys.pttl(counter);
    expect(seconds * 1_000).toBeGreaterThanOrEqual(leftMs);
    expect(seconds).toBeLessThanOrEqual(50);
    await keys.pexpire(counter, 1); // the time has passed
    await eventually(async () => (await keys.exists(counter)) === 0);
    const taken = await process(1, 'b');
    expect(taken.status).toBe(404);
    expect(taken.headers['idempotency-replayed']).toBeUndefined(); // the 429 was not kept
  });

  it('are no locks', async () => {
    const { body } = await request(apps[0]!.url).get('/locks').expect(200);
    expect(body).toEqual({ items: [], isTruncated: false });
  });

  it('limit nothing while Redis is away', async () => {
    await redis.kill();
    for (let sent = 0; sent < 20; sent += 1) {
      await request(apps[0]!.url).get('/documents/none').expect(404);
    }
    await redis.restart();
  });
});

describe('limits of a request', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp({ UPLOAD_LIMIT_MB: '1' });
  });

  afterAll(() => test.close());

  const api = () => request(test.url);

  it('are 16 KiB where no document is expected, and the upload limit where one is', async () => {
    const large = { question: 'why '.repeat(5_000) };
    const asked = await api().post('/documents/none/questions').send(large);
    expect(asked).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
    const processed = await api().post('/documents/none/process').send(large);
    expect(processed.status).toBe(413);
    await api()
      .put('/documents/large')
      .send({ title: 'a', text: 'x '.repeat(50_000) })
      .expect(201);
    const huge = await api()
      .put('/documents/large')
      .send({ title: 'a', text: 'x'.repeat(2 ** 20) });
    expect(huge).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
  });

  it('take one file and one field of a form, and of their headers what they need', async () => {
    const bytes = Buffer.from('A text.');
    const as = { filename: 'a.txt', contentType: 'text/plain' };
    const form = () => api().post('/documents').attach('file', bytes, as);
    await form().field('title', 'A').expect(201);
    for (const [sent, code, detail] of [
      [await form().attach('file', bytes, as), 'bad_request', 'Too many files'],
      [
        await api().post('/documents').field('title', 'A').field('more', 'B'),
        'bad_request',
        'Too many fields',
      ],
      [await form().field('title', 'A').field('more', 'B'), 'bad_request', 'Too many parts'],
      [
        await form().field('title', 'x'.repeat(2_001)),
        'bad_request',
        'Field value too long - title',
      ],
      [
        await form().field('title', 'x'.repeat(2_000)),
        'validation_failed',
        'title must be shorter than or equal to 200 characters',
      ],
      [await form().field('x'.repeat(101), 'A'), 'bad_request', 'Field name too long'],
      [
        await form().field('x'.repeat(100), 'A'),
        'validation_failed',
        `property ${'x'.repeat(100)} should not exist`,
      ],
    ] as const) {
      expect(sent.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect({ status: sent.status, ...(sent.body as object) }).toMatchObject({
        status: 400,
        code,
        detail,
      });
    }
    const boundary = 'edge';
    const headers = Array.from({ length: 200 }, (_, n) => `x-${n}: y`).join('\r\n');
    const head = `content-disposition: form-data; name="file"; filename="a.txt"\r\n${headers}\r\ncontent-type: text/markdown`;
    const crowded = await api()
      .post('/documents')
      .set('content-type', `multipart/form-data; boundary=${boundary}`)
      .send(`--${boundary}\r\n${head}\r\n\r\nA text.\r\n--${boundary}--\r\n`);
    expect(crowded).toMatchObject({ status: 201, body: { mediaType: 'text/markdown' } });
  });

  it('refuse what is compressed, before anything is made of it', async () => {
    const bomb = gzipSync(Buffer.alloc(2 ** 24));
    const sent = await api()
      .put('/documents/bomb')
      .set({ 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .send(bomb);
    expect(sent).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
  });

  const keys = (count: number) => {
    return `{"title":"a","text":"t",${Array.from({ length: count }, (_, n) => `"k${n}":1`).join()}}`;
  };
  const nested = (field: string, depth: number) => {
    return `{"title":"a","${field}":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  };
  it.each([
    ['keys', '/documents', keys(40_000)],
    ['arrays in arrays', '/documents', nested('text', 200_000)],
    ['objects', '/documents', `{"title":"a","text":[${Array(300_000).fill('{}').join()}]}`],
    ['arrays in a question', '/documents/none/questions', nested('question', 8_000)],
    ['objects in objects', '/documents', `${'{"a":'.repeat(17)}1${'}'.repeat(17)}`],
    ['unused values', '/documents/none/process', JSON.stringify(Array(1_001).fill(0))],
  ])('refuse JSON of too many values before it is parsed: %s', async (_what, path, body) => {
    const sent = await api().post(path).set('content-type', 'application/json').send(body);
    expect(sent).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect((sent.body as { detail: string }).detail).toMatch(/1000 values.* 16 levels/);
    expect((sent.body as { errors?: unknown }).errors).toBeUndefined();
  });

  it('take 50 parameters in a query', async () => {
    const ask = (count: number) => {
      return api().get(`/documents?${Array.from({ length: count }, (_, n) => `k${n}`).join('&')}`);
    };
    expect(await ask(50)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(await ask(51)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
  });

  it('count no values inside of strings', async () => {
    const marks = String.raw`say: "[{,\" `.repeat(2_000) + '\\';
    const sent = await api().put('/documents/marks').send({ title: '{"[,', text: marks });
    expect(sent.status).toBe(201);
    const { text: stored } = await api().get('/documents/marks/content').buffer();
    expect(stored).toBe(marks);
  });

  it('tell no more mistakes than people read', async () => {
    const many = await api()
      .post('/documents')
      .set('content-type', 'application/json')
      .send(keys(900));
    expect(many).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    const { errors, detail } = many.body as { errors: { field: string }[]; detail: string };
    expect(errors).toHaveLength(20);
    expect(detail).toMatch(/; and 880 more\.?$/);
    const long = await api()
      .post('/documents')
      .send({ title: 'a', text: 't', ['😀'.repeat(100_000)]: 1 });
    expect(long).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(long.text.length).toBeLessThan(2_000);
    expect(long.text).not.toMatch(/\\ud[89a-f]|\ufffd/i);
  });

  it.each([
    '{"title":"a","text":"b","__proto__":{"limit":1}}',
    '{"title":"a","text":"b","constructor":{"prototype":{"x":1}}}',
    '{"title":"a","text":{"deep":{"__proto__":{}}}}',
  ])('refuse JSON that would poison prototypes: %s', async (body) => {
    const sent = await api()
      .put('/documents/poison')
      .set('content-type', 'application/json')
      .send(body);
    expect(sent).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(({} as { limit?: number }).limit).toBeUndefined();
  });
});

describe('documents that want too much', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp({
      EXTRACT_MAX_PAGES: '3',
      EXTRACT_MAX_CHARS: '2000',
      EXTRACT_MAX_MS: '3000',
    });
  });

  afterAll(() => test.close());

  const api = () => request(test.url);
  const upload = (id: string, bytes: Buffer, contentType: string) =>
    api().put(`/documents/${id}`).attach('file', bytes, { filename: id, contentType });

  it('are refused with their reason, and leave the next one alone', async () => {
    const busyPage = Buffer.alloc(150 * 2 ** 20, 'q 1 0 0 1 0 0 cm Q\n');
    const pdf = 'application/pdf';
    const cases = [
      ['pages', await makePdf(['1', '2', '3', '4']), pdf, 'too-large', '4 pages; at most 3'],
      ['text', await makePdf(['word '.repeat(600)]), pdf, 'too-large', 'more than 2000'],
      ['plain', Buffer.from('word '.repeat(600)), 'text/plain', 'too-large', 'more than 2000'],
      ['bomb', rawPdf(deflateSync(busyPage), '/FlateDecode'), pdf, 'too-slow', 'after 3000 ms'],
    ] as const;
    for (const [id, bytes, type, reason, why] of cases) {
      expect(bytes.length).toBeLessThan(2 ** 20); // it is not the size that gives them away
      await upload(id, bytes, type).expect(201);
      const refused = await api().post(`/documents/${id}/process`);
      expect(refused).toMatchObject({ status: 422, body: { code: 'unreadable_document', reason } });
      const { body } = await api().get(`/documents/${id}`);
      expect(body).toMatchObject({ state: 'failed', error: { code: 'unreadable_document' } });
      expect((body as { error: { message: string } }).error.message).toContain(why);
    }
    await upload('next', await makePdf(['Still here.']), pdf).expect(201);
    await api().post('/documents/next/process').expect(200);
  }, 60_000);
});
