import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request, { type Response } from 'supertest';
import { fingerprintOf } from '../../src/key-pool/index.js';
import { Front, refusal } from '../support/front.js';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { LlmStub, type StubAnswer } from '../support/llm-stub.js';

const run = promisify(execFile);
const token = 'a-token-for-the-client';
const admin = 'the-admin-token-for-it';

interface Operation {
  readonly security?: unknown;
  readonly parameters?: readonly unknown[];
  readonly requestBody?: { readonly content: Record<string, unknown> };
  readonly responses: Record<string, { readonly content?: Record<string, { schema: unknown }> }>;
}
interface Description {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
}

describe('the description of the service', () => {
  let test: TestApp;
  let description: Description;

  beforeAll(async () => {
    test = await startApp({ API_TOKENS: token, ADMIN_TOKEN: admin });
    description = (await request(test.url).get('/docs-json').expect(200)).body as Description;
  });

  afterAll(() => test.close());

  const operations = (): [string, Operation][] =>
    Object.entries(description.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): [string, Operation] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    );
  const codesOf = (operation: Operation, status: number) =>
    JSON.stringify(operation.responses[status]?.content?.['application/problem+json'] ?? null);

  /** The description has this status, and this problem's code, for the route. */
  const expectKnown = (name: string, { status, type, body }: Response) => {
    const operation = new Map(operations()).get(name)!;
    expect([name, Object.keys(operation.responses)]).toEqual([
      name,
      expect.arrayContaining([String(status)]),
    ]);
    if (type !== 'application/problem+json') return;
    const { code } = body as { code: string };
    expect([name, code, codesOf(operation, status).includes(`"${code}"`)]).toEqual([
      name,
      code,
      true,
    ]);
  };

  it('holds every route, and what each needs', () => {
    const found = operations().map(([name, { security }]) => (security ? `${name} (token)` : name));
    expect(found.sort()).toEqual([
      'DELETE /documents/{id} (token)',
      'DELETE /locks/{name} (token)',
      'GET /archive/ticks (token)',
      'GET /archives (token)',
      'GET /archives/{id} (token)',
      'GET /conversations',
      'GET /conversations/{id}',
      'GET /documents',
      'GET /documents/{id}',
      'GET /documents/{id}/content',
      'GET /documents/{id}/events',
      'GET /documents/{id}/search',
      'GET /health/live',
      'GET /health/ready',
      'GET /locks (token)',
      'GET /locks/{name} (token)',
      'GET /pool (token)',
      'POST /archive/run (token)',
      'POST /documents (token)',
      'POST /documents/{id}/process (token)',
      'POST /documents/{id}/questions (token)',
      'POST /pool/{fingerprint}/readmit (token)',
      'PUT /documents/{id} (token)',
    ]);
    expect(description.openapi).toBe('3.1.0');
  });

  it('says of every route how it succeeds and fails, and nothing about how it was made', () => {
    for (const [name, { responses }] of operations()) {
      expect([name, Object.keys(responses).some((status) => /^2/.test(status))]).toEqual([
        name,
        true,
      ]);
      for (const status of ['500', '503'])
        expect([name, responses[status]]).toEqual([name, expect.anything()]);
    }
    expect(JSON.stringify(description)).not.toMatch(
      /x-problems|x-bodies|"default"\s*:\s*\{"description"/,
    );
    const { requestBody } = description.paths['/documents']!['post']!;
    expect(Object.keys(requestBody!.content)).toEqual(['multipart/form-data', 'application/json']);
  });

  it('knows the answers that the service really gives', async () => {
    const api = () => request(test.url);
    const bearer = { authorization: `Bearer ${token}` };
    const document = { title: 'A', text: 'A text.' };
    const given: readonly (readonly [string, Response])[] = [
      ['PUT /documents/{id}', await api().put('/documents/a').set(bearer).send(document)],
      ['PUT /documents/{id}', await api().put('/documents/a').set(bearer).send(document)],
      ['PUT /documents/{id}', await api().put('/documents/a').send(document)],
      ['PUT /documents/{id}', await api().put('/documents/%20').set(bearer).send(document)],
      [
        'PUT /documents/{id}',
        await api().put('/documents/a').set(bearer).type('text/html').send('<p>'),
      ],
      ['POST /documents', await api().post('/documents').set(bearer).send(document)],
      ['GET /documents', await api().get('/documents?cursor=x')],
      ['GET /documents/{id}', await api().get('/documents/a')],
      ['GET /documents/{id}', await api().get('/documents/none')],
      ['GET /documents/{id}/content', await api().get('/documents/a/content')],
      ['POST /documents/{id}/process', await api().post('/documents/a/process').set(bearer)],
      [
        'POST /documents/{id}/process',
        await api().post('/documents/a/process').set(bearer).set('prefer', 'respond-async'),
      ],
      [
        'POST /documents/{id}/process',
        await api().post('/documents/a/process').set(bearer).set('idempotency-key', '""'),
      ],
      ['POST /documents/{id}/process', await api().post('/documents/none/process').set(bearer)],
      [
        'POST /documents/{id}/questions',
        await api().post('/documents/none/questions').set(bearer).send({ question: 'why?' }),
      ],
      ['GET /documents/{id}/search', await api().get('/documents/a/search')],
      ['GET /conversations', await api().get('/conversations')],
      ['GET /archives', await api().get('/archives').set(bearer)],
      [
        'GET /locks',
        await api()
          .get('/locks')
          .set({ authorization: `Bearer ${admin}` }),
      ],
      [
        'GET /locks/{name}',
        await api()
          .get('/locks/x')
          .set({ authorization: `Bearer ${admin}` }),
      ],
      [
        'GET /pool',
        await api()
          .get('/pool')
          .set({ authorization: `Bearer ${admin}` }),
      ],
      ['GET /health/ready', await api().get('/health/ready')],
    ];
    for (const [name, answer] of given) expectKnown(name, answer);
  });

  it('knows the answers that the service gives when its language model fails, as the document does', async () => {
    await using stub = await LlmStub.start();
    await using service = await startApp({
      LLM_BASE_URL: stub.url,
      LLM_API_KEYS: 'sk-secret-key',
      LLM_CHAT_MODEL: 'small',
      EMBEDDER: 'llm',
      LLM_EMBED_MODEL: 'vectors',
      LLM_EMBED_DIMENSIONS: '8',
      LLM_WAIT_MS: '0',
    });
    const api = () => request(service.url);
    await api().put('/documents/read').send({ title: 'A', text: 'A text.' }).expect(201);
    await api().post('/documents/read/process').expect(200);
    await api().put('/documents/new').send({ title: 'B', text: 'B text.' }).expect(201);

    let answerHeld = () => {};
    const when = new Promise<void>((release) => (answerHeld = release));
    const failures: readonly (readonly [string, StubAnswer])[] = [
      ['llm_unavailable', { kind: 'refuse', status: 500 }],
      ['llm_request_refused', { kind: 'refuse', status: 400 }],
      ['key_pool_resting', { kind: 'refuse', status: 429, headers: { 'retry-after': '300' } }],
      ['key_pool_refused', { kind: 'refuse', status: 401 }],
      ['key_pool_busy', { kind: 'answer', when }],
    ];
    for (const [code, answer] of failures) {
      await api()
        .post(`/pool/${fingerprintOf('sk-secret-key')}/readmit`)
        .expect(200);
      stub.forget();
      stub.treat = () => answer;
      const ask = () => api().get('/documents/read/search?q=why').then();
      const held = code === 'key_pool_busy' ? ask() : undefined;
      if (held) await eventually(() => stub.requests.length === 1);
      const question = { question: 'why?' };
      for (const [name, given] of [
        ['POST /documents/{id}/process', await api().post('/documents/new/process')],
        ['GET /documents/{id}/search', await ask()],
        [
          'POST /documents/{id}/questions',
          await api().post('/documents/read/questions').send(question),
        ],
      ] as const) {
        expect([name, given.body]).toEqual([name, expect.objectContaining({ code })]);
        expectKnown(name, given);
      }
      const { body } = await api().get('/documents/new');
      expect(body).toMatchObject({ state: 'failed', error: { code } });
      expect((body as { error: { message: string } }).error.message).toMatch(/language model/);
      if (held) answerHeld();
      await held;
    }
  });

  it('knows that a client may prefer not to wait', () => {
    const { parameters = [] } = description.paths['/documents/{id}/process']!['post']!;
    expect(parameters).toContainEqual(
      expect.objectContaining({ in: 'header', name: 'Prefer', required: false }),
    );
  });

  it('is a page for people too, which needs no script but its own', async () => {
    const page = await request(test.url).get('/docs').redirects(1).expect(200);
    expect(page.type).toBe('text/html');
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>\s*\S/);
    const scripts = [...page.text.matchAll(/<script[^>]*src="([^"]+)"/g)].map(
      ([, src = '']) => src,
    );
    expect(scripts.length).toBeGreaterThan(1);
    for (const src of scripts) {
      const address = new URL(src, `${test.url}/docs`);
      const script = await request(test.url).get(address.pathname);
      expect([src, script.status, script.type]).toEqual([
        src,
        200,
        expect.stringContaining('javascript'),
      ]);
    }
  });

  describe('makes a client, the one of docs/client.md,', () => {
    let folder: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'client-'));
      const page = await readFile('docs/client.md', 'utf8');
      const program = /```ts\n([^]*?)```/.exec(page)?.[1] ?? '';
      await symlink(resolve('node_modules'), join(folder, 'node_modules'));
      await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
      await writeFile(join(folder, 'client.ts'), program);
      await writeFile(join(folder, 'docs.json'), JSON.stringify(description));
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        module: 'nodenext',
        target: 'es2022',
        lib: ['es2022', 'dom'],
        types: ['node'],
        skipLibCheck: true,
      };
      await writeFile(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['client.ts'] }),
      );
      const bin = (path: string) => resolve('node_modules', path);
      await node(bin('openapi-typescript/bin/cli.js'), 'docs.json', '--output', 'schema.ts');
      await node(bin('typescript/bin/tsc'), '-p', '.');
    }, 180_000);

    afterAll(() => rm(folder, { recursive: true, force: true }));

    const node = (...args: string[]) =>
      run(process.execPath, args, { cwd: folder, timeout: 60_000 });
    /** What the client prints when it works. */
    const printed = [
      { title: 'Lighthouses', chunks: 1, found: 'The keeper lights the lamp at dusk.' },
      { status: 404, code: 'document_not_found' },
    ];
    const lines = ({ stdout }: { stdout: string }): unknown[] =>
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);

    it('that compiles, strictly, and works', async () => {
      expect(lines(await node('client.js', test.url, token))).toEqual(printed);
    });

    it('that waits and repeats as it is told, with one key, and not where it is not told', async () => {
      const passing = [
        refusal(409, 'idempotency_in_progress', 1),
        refusal(423, 'lock_busy', 1),
        refusal(503, 'lock_unavailable', 1),
      ];
      await using kind = await Front.start(test.url, passing);
      expect(lines(await node('client.js', kind.url, token))).toEqual(printed);
      expect(kind.keys).toHaveLength(passing.length + 1);
      expect(new Set(kind.keys).size).toBe(1);

      await using strict = await Front.start(test.url, [refusal(503, 'key_pool_refused')]);
      await expect(node('client.js', strict.url, token)).rejects.toThrow(/key_pool_refused/);
      expect(strict.keys).toHaveLength(1);
    });
  });
});
