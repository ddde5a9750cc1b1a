import { expect, it, jest } from '@jest/globals';
import { type KyselyPlugin } from 'kysely';
import { SqlVectorStore } from '../../../src/documents/adapters/sql-vector-store.js';
import { onBothDatabases } from '../../support/databases.js';
import { at, vectorStoreContract } from './vector-store.contract.js';
import { worldAround } from './vector-store.world.js';

const calm = new AbortController().signal;
const one = { seq: 0, page: null, text: 'text', embedding: at(0) };

onBothDatabases('SqlVectorStore', (fixture) => {
  async function open() {
    const options = await fixture.createOptions();
    const database = await fixture.open(options);
    const world = worldAround(database, new SqlVectorStore(database));
    return { options, database, ...world };
  }

  vectorStoreContract(open);

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
    let swept: Promise<number> | undefined;
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
