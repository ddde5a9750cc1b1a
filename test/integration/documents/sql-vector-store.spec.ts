import { expect, it, jest } from '@jest/globals';
import { type KyselyPlugin } from 'kysely';
import { SqlVectorStore } from '../../../src/documents/adapters/sql-vector-store.js';
import { DocumentRunsRepository } from '../../../src/documents/document-runs.repository.js';
import { DocumentsRepository } from '../../../src/documents/documents.repository.js';
import { onBothDatabases } from '../../support/databases.js';
import { at, vectorStoreContract } from './vector-store.contract.js';

const calm = new AbortController().signal;
const one = { seq: 0, page: null, text: 'text', embedding: at(0) };

onBothDatabases('SqlVectorStore', (fixture) => {
  async function open() {
    const options = await fixture.createOptions();
    const database = await fixture.open(options);
    const documents = new DocumentsRepository(database);
    const runs = new DocumentRunsRepository(database);
    return {
      options,
      database,
      store: new SqlVectorStore(database),
      put: async (id: string, fence: bigint) => {
        const bytes = Buffer.from(String(fence));
        await documents.put(id, fence, { title: '', mediaType: 'text/plain', bytes });
      },
      begin: async (id: string, fence: bigint) => {
        await runs.begin(id, fence, 'replica-1');
      },
      publish: async (id: string, generation: bigint) => {
        await runs.publish(id, generation, { pages: 1, chunks: 1, processedHash: '' });
      },
      delete: async (id: string, fence: bigint) => {
        await documents.delete(id, fence);
      },
    };
  }

  vectorStoreContract(open);

  it.each(['a newer run', 'a replacement', 'a deletion', 'a deletion and re-creation'])(
    'refuses the write of a zombie after %s, also in the middle',
    async (event) => {
      const world = await open();
      await world.put('d', 1n);
      await world.begin('d', 10n);
      await world.store.write('d', 10n, [one], calm);
      if (event === 'a newer run') await world.begin('d', 11n);
      if (event === 'a replacement') await world.put('d', 11n);
      if (event.startsWith('a deletion')) await world.delete('d', 11n);
      if (event.endsWith('re-creation')) await world.put('d', 12n);
      await expect(world.store.write('d', 10n, [{ ...one, seq: 1 }], calm)).rejects.toMatchObject({
        code: 'lease_lost',
        id: 'd',
        fence: 10n,
      });
      const left = await world.store.search('d', 10n, at(0), 9);
      expect(left.map(({ seq }) => seq)).not.toContain(1);
    },
  );

  it('refuses to write for a deleted document under any fence', async () => {
    const world = await open();
    await world.put('d', 1n);
    await world.delete('d', 11n);
    await expect(world.store.write('d', 12n, [one], calm)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await world.database.kysely.selectFrom('passages').selectAll().execute()).toEqual([]);
  });

  it('refuses to write for a document that never was', async () => {
    const world = await open();
    await expect(world.store.write('never', 10n, [one], calm)).rejects.toMatchObject({
      code: 'lease_lost',
    });
  });

  it('gives nothing, rather than a part, when the generation is swept during the search', async () => {
    const world = await open();
    await world.put('d', 1n);
    await world.begin('d', 10n);
    const many = Array.from({ length: 900 }, (_, seq) => ({
      ...one,
      seq,
      embedding: at(seq % 90),
    }));
    await world.store.write('d', 10n, many, calm);
    await world.begin('d', 11n);
    const other = new SqlVectorStore(await fixture.open(world.options));
    let swept: Promise<void> | undefined;
    const sweepAfterTheFirstPage: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        swept ??= other.sweep('d', 11n);
        await swept;
        return result;
      },
    };
    const kysely = world.database.kysely.withPlugin(sweepAfterTheFirstPage);
    const replaced = jest.replaceProperty(world.database, 'kysely', kysely);
    const searching = world.store.search('d', 10n, at(0), 5);
    expect(await searching.finally(() => replaced.restore())).toEqual([]);
  });

  it('deletes the passages together with the document', async () => {
    const world = await open();
    await world.put('d', 1n);
    await world.begin('d', 10n);
    await world.store.write('d', 10n, [one], calm);
    await world.delete('d', 11n);
    expect(await world.database.kysely.selectFrom('passages').selectAll().execute()).toEqual([]);
  });
});
