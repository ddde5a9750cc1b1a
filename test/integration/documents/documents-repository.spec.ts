import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '../../../src/database/index.js';
import { DocumentRunsRepository } from '../../../src/documents/document-runs.repository.js';
import { ContentsRepository } from '../../../src/documents/contents/contents.repository.js';
import { DocumentsRepository } from '../../../src/documents/documents.repository.js';
import { onBothDatabases } from '../../support/databases.js';
import { staged } from '../../support/staged.js';

const stale = { code: 'lease_lost' };

function input(text: string, mediaType = 'text/plain') {
  return { title: `About ${text}`, mediaType, content: staged(Buffer.from(text)) };
}

onBothDatabases('DocumentsRepository', (fixture) => {
  let database: Database;
  let documents: DocumentsRepository;
  let runs: DocumentRunsRepository;

  beforeEach(async () => {
    database = await fixture.open();
    documents = new DocumentsRepository(database, new ContentsRepository(database));
    runs = new DocumentRunsRepository(database);
  });

  async function bytesOf(id: string): Promise<Buffer> {
    const content = await documents.content(id);
    return buffer(content!.pieces);
  }

  async function publish(id: string, fence: bigint) {
    await runs.begin(id, fence, 'replica-1');
    return runs.publish(id, fence, {
      pages: 1,
      chunks: 2,
      processedHash: 'hash',
      embeddingModel: 'model',
    });
  }

  describe('create', () => {
    it('stores under a fresh id with fence 0, which every lock holder may write', async () => {
      const one = await documents.create(input('apples'));
      const two = await documents.create(input('apples'));
      expect(one.id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
      expect(two.id).not.toBe(one.id);
      expect(one).toMatchObject({ state: 'uploaded', fence: 0n, generation: null, sizeBytes: 6 });
      expect(await documents.find(one.id)).toEqual(one);
      expect((await publish(one.id, 1n)).fence).toBe(1n);
    });

    it('strips NUL from the title and keeps the bytes as they are', async () => {
      const bytes = Buffer.from([0, 1, 2, 0]);
      const { id, title } = await documents.create({
        title: 'a\0b',
        mediaType: 'x/y',
        content: staged(bytes),
      });
      expect(title).toBe('ab');
      expect(await documents.content(id)).toMatchObject({ title: 'ab', mediaType: 'x/y' });
      expect(await bytesOf(id)).toEqual(bytes);
    });
  });

  describe('put', () => {
    it('creates, then replaces', async () => {
      const first = await documents.put('1001', 10n, input('one'));
      expect(first).toMatchObject({
        created: true,
        contentChanged: true,
        document: { fence: 10n },
      });
      const second = await documents.put('1001', 11n, input('two'));
      expect(second).toMatchObject({
        created: false,
        contentChanged: true,
        document: { title: 'About two', fence: 11n, createdAt: first.document.createdAt },
      });
      expect(await bytesOf('1001')).toEqual(Buffer.from('two'));
    });

    it('of other bytes hides what was published and starts anew', async () => {
      await documents.put('d', 1n, input('one'));
      await publish('d', 2n);
      const { document } = await documents.put('d', 3n, input('other'));
      expect(document).toMatchObject({
        state: 'uploaded',
        generation: null,
        chunks: null,
        processedHash: null,
        embeddingModel: null,
        processedAt: null,
        fence: 3n,
      });
    });

    it('of the same bytes as another type is another content', async () => {
      await documents.put('d', 1n, input('one'));
      await publish('d', 2n);
      const { document, contentChanged } = await documents.put(
        'd',
        3n,
        input('one', 'text/markdown'),
      );
      expect(contentChanged).toBe(true);
      expect(document).toMatchObject({ state: 'uploaded', generation: null });
    });

    it('of the same content keeps it ready, with a new title', async () => {
      await documents.put('d', 1n, input('one'));
      await publish('d', 2n);
      const outcome = await documents.put('d', 3n, { ...input('one'), title: 'Renamed' });
      expect(outcome).toMatchObject({
        created: false,
        contentChanged: false,
        document: { state: 'ready', generation: 2n, chunks: 2, title: 'Renamed', fence: 3n },
      });
    });

    it('of the same content after a failure waits for a run again, with nothing left of the failure', async () => {
      await documents.put('d', 1n, input('one'));
      await publish('d', 2n);
      await runs.begin('d', 3n, 'replica-1');
      await runs.fail('d', 3n, { code: 'embedding_failed', message: 'why' });
      const { document } = await documents.put('d', 4n, input('one'));
      expect(document).toMatchObject({
        state: 'uploaded',
        stage: null,
        errorCode: null,
        errorMessage: null,
        generation: 2n,
      });
    });

    it('under an older fence changes nothing', async () => {
      await documents.put('d', 20n, input('new'));
      await expect(documents.put('d', 19n, input('old'))).rejects.toMatchObject({
        ...stale,
        table: 'documents',
        id: 'd',
        fence: 19n,
      });
      expect(await bytesOf('d')).toEqual(Buffer.from('new'));
      expect(await documents.find('d')).toMatchObject({ fence: 20n, title: 'About new' });
    });

    it('at the same moment under different fences: the newest wins, none is mixed', async () => {
      const fences = [5n, 9n, 2n, 7n, 1n, 8n];
      const outcomes = await Promise.allSettled(
        fences.map((fence) => documents.put('d', fence, input(`text ${fence}`))),
      );
      expect(outcomes[1]).toMatchObject({ status: 'fulfilled' });
      const refusals = outcomes.flatMap((each): unknown[] =>
        each.status === 'rejected' ? [each.reason] : [],
      );
      expect(refusals).toEqual(refusals.map(() => expect.objectContaining(stale)));
      const created = outcomes.filter((each) => each.status === 'fulfilled' && each.value.created);
      expect(created).toHaveLength(1);
      expect(await documents.find('d')).toMatchObject({ fence: 9n, title: 'About text 9' });
      expect(await bytesOf('d')).toEqual(Buffer.from('text 9'));
    });
  });

  describe('delete', () => {
    it('leaves nothing to read, and is false the second time or for what never was', async () => {
      await documents.put('d', 1n, input('one'));
      expect(await documents.delete('d', 2n)).toBe(true);
      expect(await documents.find('d')).toBeNull();
      expect(await documents.content('d')).toBeNull();
      expect(await documents.list({ limit: 10 })).toEqual({ items: [], nextCursor: null });
      expect(await documents.delete('d', 3n)).toBe(false);
      expect(await documents.delete('never', 3n)).toBe(false);
      expect(await database.kysely.selectFrom('content_pieces').selectAll().execute()).toEqual([]);
    });

    it('under an older fence deletes nothing', async () => {
      await documents.put('d', 5n, input('one'));
      await expect(documents.delete('d', 4n)).rejects.toMatchObject(stale);
      expect(await documents.find('d')).not.toBeNull();
    });

    it('keeps zombies out: before and after the document is created again', async () => {
      await documents.put('d', 1n, input('one'));
      await documents.delete('d', 10n);
      await expect(documents.put('d', 9n, input('zombie'))).rejects.toMatchObject(stale);
      await expect(runs.begin('d', 9n, 'zombie')).rejects.toMatchObject(stale);
      const again = await documents.put('d', 11n, input('two'));
      expect(again).toMatchObject({ created: true, document: { state: 'uploaded', fence: 11n } });
      await expect(documents.put('d', 9n, input('zombie'))).rejects.toMatchObject(stale);
      await expect(documents.delete('d', 10n)).rejects.toMatchObject(stale);
      expect(await bytesOf('d')).toEqual(Buffer.from('two'));
    });
  });

  describe('list', () => {
    async function ids(limit: number): Promise<string[][]> {
      const pages: string[][] = [];
      let cursor: string | undefined;
      do {
        const page = await documents.list(cursor === undefined ? { limit } : { limit, cursor });
        pages.push(page.items.map(({ id }) => id));
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      return pages;
    }

    it('gives every document once, newest first, also where times are equal', async () => {
      const times: [string, number][] = [
        ['b', 5],
        ['A', 5],
        ['a', 5],
        ['old', 1],
        ['new', 9],
        ['Z', 5],
      ];
      for (const [id, created_at] of times) {
        await documents.put(id, 1n, input(id));
        await database.kysely
          .updateTable('documents')
          .set({ created_at })
          .where('id', '=', id)
          .execute();
      }
      expect(await ids(4)).toEqual([
        ['new', 'b', 'a', 'Z'],
        ['A', 'old'],
      ]);
      expect((await ids(1)).flat()).toEqual(['new', 'b', 'a', 'Z', 'A', 'old']);
      expect(await ids(6)).toHaveLength(1);
    });

    it('stays exact when documents come and go between the pages', async () => {
      for (const id of ['a', 'b', 'c']) await documents.put(id, 1n, input(id));
      await database.kysely.updateTable('documents').set({ created_at: 5 }).execute();
      const first = await documents.list({ limit: 2 });
      expect(first.items.map(({ id }) => id)).toEqual(['c', 'b']);
      await documents.put('z', 1n, input('z'));
      await documents.delete('b', 2n);
      const second = await documents.list({ limit: 2, cursor: first.nextCursor ?? '' });
      expect(second.items.map(({ id }) => id)).toEqual(['a']);
    });

    it('refuses a cursor of its own invention', async () => {
      await expect(documents.list({ limit: 2, cursor: 'x' })).rejects.toMatchObject({
        code: 'invalid_cursor',
      });
    });
  });
});
