import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { DocumentsClient } from '../support/documents-client.js';

interface ConversationBody {
  readonly id: string;
  readonly documentId: string;
  readonly question: string;
  readonly passages: readonly { readonly text: string; readonly score: number }[];
  readonly askedAt: string;
  readonly replica: string;
}
interface Page {
  readonly items: readonly ConversationBody[];
  readonly nextCursor: string | null;
}

const text = `Whales are mammals that live in the sea and breathe air.

Bread is baked from flour, water, salt and yeast.

A violin has four strings and is played with a bow.`;

describe('questions about documents', () => {
  let app: TestApp;
  let client: DocumentsClient;

  beforeAll(async () => {
    app = await startApp({ INSTANCE_ID: 'me', CHUNK_SIZE: '80', CHUNK_OVERLAP: '0' });
    client = new DocumentsClient({ fetch: (path, init) => fetch(app.url + path, init) });
    await client.put('facts', text);
    await client.processed('facts');
  });

  afterAll(() => app?.close());

  const ask = (body: unknown, id = 'facts') =>
    client.send<ConversationBody>(`/documents/${id}/questions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('are answered with the best passages, and recorded', async () => {
    const question = 'Which instrument do people play with a bow?';
    const { status, headers, body } = await ask({ question, limit: 2 });
    expect(status).toBe(201);
    expect(body).toMatchObject({ documentId: 'facts', question, replica: 'me' });
    expect(body.passages).toHaveLength(2);
    expect(body.passages[0]!.text).toContain('violin');
    expect(body.passages[0]!.score).toBeGreaterThan(body.passages[1]!.score);
    expect(headers.get('location')).toBe(`/conversations/${body.id}`);
    expect((await client.send(`/conversations/${body.id}`)).body).toEqual(body);
  });

  it('are listed newest first, by document, in pages', async () => {
    await client.put('other', 'Nobody has processed this.');
    const unanswered = await ask({ question: 'What is this?' }, 'other');
    expect(unanswered).toMatchObject({ status: 201, body: { passages: [] } });
    for (const question of ['Who breathes air?', 'What is bread made of?']) await ask({ question });
    const first = await client.send<Page>('/conversations?documentId=facts&limit=2');
    expect(first.body.items.map(({ question }) => question)).toEqual([
      'What is bread made of?',
      'Who breathes air?',
    ]);
    const cursor = first.body.nextCursor;
    const next = await client.send<Page>(
      `/conversations?documentId=facts&limit=2&cursor=${cursor}`,
    );
    expect(next.body.items.map(({ documentId }) => documentId)).toEqual(['facts']);
    expect(next.body.nextCursor).toBeNull();
    const all = await client.send<Page>('/conversations');
    expect(all.body.items.map(({ documentId }) => documentId)).toContain('other');
  });

  it('are refused where they make no sense, and then not recorded', async () => {
    const count = async () => (await client.send<Page>('/conversations')).body.items.length;
    const before = await count();
    expect(await ask({ question: 'x' }, 'nobody')).toMatchObject({
      status: 404,
      body: { code: 'document_not_found' },
    });
    for (const body of [
      {},
      { question: ' ' },
      { question: 7 },
      { question: 'x'.repeat(1_001) },
      { question: 'x', limit: 0 },
      { question: 'x', more: 1 },
    ]) {
      expect(await ask(body)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    }
    expect(await count()).toBe(before);
  });

  it.each([
    ['/conversations/00000000-0000-4000-8000-000000000000', 404, 'conversation_not_found'],
    ['/conversations/7', 400, 'validation_failed'],
    ['/conversations/7%00', 400, 'validation_failed'],
    ['/conversations?cursor=x', 400, 'invalid_cursor'],
    ['/conversations?limit=0', 400, 'validation_failed'],
    ['/conversations?documentId=a%00b', 400, 'validation_failed'],
  ])('GET %s is %d', async (path, status, code) => {
    expect(await client.send(path)).toMatchObject({ status, body: { code } });
  });
});
