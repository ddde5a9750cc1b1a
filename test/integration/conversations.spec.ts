import { expect, it } from '@jest/globals';
import { ConversationsRepository } from '../../src/conversations/index.js';
import { type Database } from '../../src/database/index.js';
import { ContentsRepository } from '../../src/documents/contents/contents.repository.js';
import { DocumentsRepository } from '../../src/documents/documents.repository.js';
import { seedConversations } from '../support/conversations.js';
import { onBothDatabases } from '../support/databases.js';
import { staged } from '../support/staged.js';

async function withDocument(database: Database, id: string): Promise<void> {
  const content = { title: id, mediaType: 'text/plain', content: staged(Buffer.from(id)) };
  await new DocumentsRepository(database, new ContentsRepository(database)).put(id, 1n, content);
}

onBothDatabases('conversations', (databases) => {
  it('come back as they were had, whatever their text', async () => {
    const database = await databases.open();
    const conversations = new ConversationsRepository(database);
    await withDocument(database, 'a');
    const passages = [{ seq: 3, page: null, text: 'Ünïcödé "quoted" \\ 😀\n', score: 0.25 }];
    const question = 'Was\0 heißt „das“?';
    const added = await conversations.add({ documentId: 'a', question, passages, replica: 'r' });
    expect(added).toMatchObject({ question: 'Was heißt „das“?', passages, replica: 'r' });
    expect(Math.abs(Date.parse(added.askedAt) - Date.now())).toBeLessThan(10_000);
    expect(await conversations.find(added.id)).toEqual(added);
    expect(await conversations.find('nobody')).toBeNull();
  });

  it('are not kept about a document that was deleted while the question was answered', async () => {
    const database = await databases.open();
    const conversations = new ConversationsRepository(database);
    await withDocument(database, 'a');
    await new DocumentsRepository(database, new ContentsRepository(database)).delete('a', 2n);
    const late = { documentId: 'a', question: 'What?', passages: [], replica: 'r' };
    await expect(conversations.add(late)).rejects.toMatchObject({ code: 'document_not_found' });
    expect((await conversations.list({ limit: 10 })).items).toEqual([]);
  });

  it('are listed newest first, page by page, all or of one document, each once', async () => {
    const database = await databases.open();
    const conversations = new ConversationsRepository(database);
    const old = await seedConversations(database, 7, 40, 'old');
    const young = await seedConversations(database, 6, 1, 'young');
    const all = async (documentId?: string) => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await conversations.list({ limit: 3, documentId, ...(cursor && { cursor }) });
        expect(page.items.length).toBeLessThanOrEqual(3);
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      return seen;
    };
    expect(await all()).toEqual([...old, ...young].reverse());
    expect(await all('old')).toEqual(old.toReversed());
    expect(await all('nothing')).toEqual([]);
    await expect(conversations.list({ limit: 1, cursor: '???' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
  });

  it('are found oldest first for the archiver, and none of the young', async () => {
    const database = await databases.open();
    const conversations = new ConversationsRepository(database);
    const old = await seedConversations(database, 5, 40);
    await seedConversations(database, 5, 20);
    const found = await conversations.oldest(Date.now() - 30 * 86_400_000, 100);
    expect(found.map(({ id }) => id)).toEqual(old);
  });
});
