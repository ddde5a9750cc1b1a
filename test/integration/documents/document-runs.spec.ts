import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '../../../src/database/index.js';
import { DocumentRunsRepository } from '../../../src/documents/document-runs.repository.js';
import { ContentsRepository } from '../../../src/documents/contents/contents.repository.js';
import { DocumentsRepository } from '../../../src/documents/documents.repository.js';
import { onBothDatabases } from '../../support/databases.js';
import { staged } from '../../support/staged.js';

const stale = { code: 'lease_lost' };
const made = { pages: 3, chunks: 7, processedHash: 'h', embeddingModel: 'm' };

onBothDatabases('DocumentRunsRepository', (fixture) => {
  let documents: DocumentsRepository;
  let runs: DocumentRunsRepository;
  let database: Database;

  beforeEach(async () => {
    database = await fixture.open();
    documents = new DocumentsRepository(database, new ContentsRepository(database));
    runs = new DocumentRunsRepository(database);
    await documents.put('d', 10n, {
      title: 'T',
      mediaType: 'text/plain',
      content: staged(Buffer.from('t')),
    });
  });

  it('shows a run from its begin to its publication', async () => {
    expect(await runs.begin('d', 11n, 'replica-1')).toMatchObject({
      state: 'processing',
      stage: 'extract',
      stageDone: 0,
      stageTotal: null,
      fence: 11n,
      replica: 'replica-1',
    });
    await runs.progress('d', 11n, { stage: 'embed', done: 8, total: 64 });
    expect(await documents.find('d')).toMatchObject({
      stage: 'embed',
      stageDone: 8,
      stageTotal: 64,
    });
    const published = await runs.publish('d', 11n, made);
    expect(published).toMatchObject({
      state: 'ready',
      stage: null,
      stageDone: null,
      stageTotal: null,
      generation: 11n,
      pages: 3,
      chunks: 7,
      processedHash: 'h',
      embeddingModel: 'm',
    });
    expect(published.processedAt).toBeGreaterThanOrEqual(published.createdAt);
    expect(await documents.find('d')).toEqual(published);
  });

  it('begins nothing for a document that is not there or was deleted before', async () => {
    expect(await runs.begin('never', 11n, 'r')).toBeNull();
    await documents.delete('d', 11n);
    expect(await runs.begin('d', 12n, 'r')).toBeNull();
  });

  it('keeps a fence of full width', async () => {
    const fence = 2n ** 53n + 1n;
    await runs.begin('d', fence, 'r');
    expect((await runs.publish('d', fence, made)).generation).toBe(fence);
    await expect(
      runs.progress('d', fence - 1n, { stage: 'embed', done: 1, total: 1 }),
    ).rejects.toMatchObject(stale);
  });

  it('fails with the reason and the stage, strips NUL, and keeps what was published', async () => {
    await runs.begin('d', 11n, 'r');
    await runs.publish('d', 11n, made);
    await runs.begin('d', 12n, 'r');
    await runs.progress('d', 12n, { stage: 'store', done: 0, total: 7 });
    await runs.fail('d', 12n, { code: 'embedding_failed', message: 'no\0 luck' });
    expect(await documents.find('d')).toMatchObject({
      state: 'failed',
      stage: 'store',
      errorCode: 'embedding_failed',
      errorMessage: 'no luck',
      generation: 11n,
      chunks: 7,
    });
    expect(await runs.begin('d', 13n, 'r')).toMatchObject({ errorCode: null, errorMessage: null });
  });

  it('keeps the published generation when there is nothing new, and notes its model', async () => {
    await runs.begin('d', 11n, 'r');
    const published = await runs.publish('d', 11n, made);
    await database.kysely.updateTable('documents').set({ embedding_model: null }).execute();
    await runs.begin('d', 12n, 'r');
    expect(await runs.keep('d', 12n, 'm')).toMatchObject({
      embeddingModel: 'm',
      state: 'ready',
      generation: 11n,
      fence: 12n,
      chunks: 7,
      processedAt: published.processedAt,
    });
  });

  it('keeps nothing where nothing is published', async () => {
    await runs.begin('d', 11n, 'r');
    await expect(runs.keep('d', 11n, 'm')).rejects.toMatchObject(stale);
  });

  it('a late report of a run that has ended changes nothing', async () => {
    await runs.begin('d', 11n, 'r');
    const published = await runs.publish('d', 11n, made);
    await runs.progress('d', 11n, { stage: 'embed', done: 1, total: 2 });
    await runs.fail('d', 11n, { code: 'late', message: 'late' });
    expect(await documents.find('d')).toEqual(published);
  });

  describe('refuses a zombie', () => {
    const writes: [string, (fence: bigint) => Promise<unknown>][] = [
      ['begin', (fence) => runs.begin('d', fence, 'zombie')],
      ['progress', (fence) => runs.progress('d', fence, { stage: 'embed', done: 1, total: 2 })],
      ['fail', (fence) => runs.fail('d', fence, { code: 'x', message: 'x' })],
      ['publish', (fence) => runs.publish('d', fence, made)],
      ['keep', (fence) => runs.keep('d', fence, 'm')],
    ];

    const events: [string, () => Promise<unknown>][] = [
      ['a newer run began', () => runs.begin('d', 20n, 'newer')],
      [
        'a newer run published',
        async () => {
          await runs.begin('d', 20n, 'newer');
          await runs.publish('d', 20n, made);
        },
      ],
      [
        'the document was replaced',
        () =>
          documents.put('d', 20n, {
            title: '',
            mediaType: 'a/b',
            content: staged(Buffer.from('new')),
          }),
      ],
      ['the document was deleted', () => documents.delete('d', 20n)],
      [
        'the document was deleted and created again',
        async () => {
          await documents.delete('d', 20n);
          await documents.put('d', 21n, {
            title: '',
            mediaType: 'a/b',
            content: staged(Buffer.from('new')),
          });
        },
      ],
    ];

    for (const [event, happen] of events) {
      it.each(writes)(`%s after ${event}`, async (_, write) => {
        await runs.begin('d', 11n, 'zombie');
        await happen();
        const before = await documents.find('d');
        await expect(write(11n)).rejects.toMatchObject({ ...stale, id: 'd', fence: 11n });
        expect(await documents.find('d')).toEqual(before);
      });
    }
  });
});
