import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ChromaVectorStore } from '../../../src/documents/adapters/chroma/chroma-vector-store.js';
import { DocumentPointers } from '../../../src/documents/document-pointers.js';
import { ChromaServer } from '../../support/chroma.js';
import { onBothDatabases, onDatabase } from '../../support/databases.js';
import { at, vectorStoreContract, type VectorStoreWorld } from './vector-store.contract.js';
import { worldAround } from './vector-store.world.js';

const calm = new AbortController().signal;

describe('ChromaVectorStore', () => {
  let chroma: ChromaServer;
  beforeAll(async () => {
    chroma = await ChromaServer.start();
  });
  afterAll(() => chroma?.stop());

  onBothDatabases('with its pointers', (fixture) => {
    vectorStoreContract(async () => {
      await chroma.empty();
      const database = await fixture.open();
      const store = new ChromaVectorStore(new DocumentPointers(database), { url: chroma.url });
      return worldAround(database, store);
    });
  });

  describe('on its server', () => {
    onDatabase('sqlite', (fixture) => {
      let world: VectorStoreWorld;
      let pointers: DocumentPointers;
      beforeEach(async () => {
        await chroma.empty();
        const database = await fixture.open();
        pointers = new DocumentPointers(database);
        const options = { url: chroma.url, timeoutMs: 1_000 };
        world = worldAround(database, new ChromaVectorStore(pointers, options));
        await world.put('d', 1n);
        await world.begin('d', 10n);
      });

      const one = (seq = 0, page: number | null = null) => ({
        seq,
        page,
        text: `text ${seq}`,
        embedding: at(seq),
      });
      /** Every record that is there, seen by ChromaDB's own client. */
      const records = async (dimensions = 8) => {
        const name = `doclock-passages-${dimensions}`;
        const collection = await chroma.client.getCollection({ name });
        return collection.get({ include: ['metadatas', 'documents', 'embeddings'] });
      };

      it('is unavailable, and says how to make it, where the server lacks its default database', async () => {
        const databases = `${chroma.url}/api/v2/tenants/default_tenant/databases`;
        await world.store.write('d', 10n, [one(0)], calm);
        await fetch(`${databases}/default_database`, { method: 'DELETE' });
        try {
          const error = await world.store.write('d', 10n, [one(0)], calm).catch((e: unknown) => e);
          expect(error).toMatchObject({ code: 'vectors_unavailable' });
          expect(String(error)).toContain('"default_database" of the tenant "default_tenant"');
          expect(String(error)).toContain(`POST ${databases}`);
        } finally {
          const body = JSON.stringify({ name: 'default_database' });
          const headers = { 'content-type': 'application/json' };
          await fetch(databases, { method: 'POST', headers, body });
        }
        await world.store.write('d', 10n, [one(0)], calm);
        expect(await world.store.count('d', 10n)).toBe(1);
      });

      it('writes what ChromaDB’s own client reads', async () => {
        await world.store.write('d', 10n, [one(0), one(1, 7)], calm);
        const { ids, metadatas, documents, embeddings } = await records();
        expect(ids).toEqual(['d:10:0', 'd:10:1']);
        expect(documents).toEqual(['text 0', 'text 1']);
        expect(metadatas).toEqual([
          { document: 'd', generation: 10, seq: 0 },
          { document: 'd', generation: 10, seq: 1, page: 7 },
        ]);
        expect(Float32Array.from(embeddings[1] ?? [])).toEqual(at(1));
      });

      it('tells generations apart up to the largest exact one, and refuses larger ones', async () => {
        const largest = 2n ** 53n - 1n;
        for (const generation of [largest - 2n, largest - 1n]) {
          await world.begin('d', generation);
          await world.store.write('d', generation, [one(Number(largest - generation))], calm);
        }
        const found = await world.store.search('d', largest - 1n, at(0), 9);
        expect(found.map(({ seq }) => seq)).toEqual([1]);
        await world.store.sweep('d', largest - 1n);
        expect((await records()).ids).toEqual([`d:${largest - 1n}:1`]);
        await expect(world.store.write('d', largest + 1n, [one()], calm)).rejects.toThrow(
          RangeError,
        );
      });

      it('removes the batch of a zombie that arrived after a newer run had begun', async () => {
        let claims = 0;
        const claim = pointers.claim.bind(pointers);
        pointers.claim = async (id, fence) => {
          await claim(id, fence);
          claims += 1;
          // Overtaken after the check, and before the batch arrives.
          if (claims === 1) await world.begin('d', 11n);
        };
        await expect(world.store.write('d', 10n, [one()], calm)).rejects.toMatchObject({
          code: 'lease_lost',
        });
        expect(claims).toBe(1);
        expect((await records()).ids).toEqual([]);
      });

      it('leaves a killed run’s passages unseen, and the next run’s sweep takes them along', async () => {
        await world.store.write('d', 10n, [one(0), one(1), one(2)], calm);
        await chroma.kill();
        await chroma.restart();
        expect((await records()).ids).toHaveLength(3);
        await world.begin('d', 11n);
        await world.store.write('d', 11n, [one(5)], calm);
        await world.publish('d', 11n);
        await world.store.sweep('d', 11n);
        expect((await records()).ids).toEqual(['d:11:5']);
      });

      it('keeps models with other lengths apart, and sweeps them too', async () => {
        await world.store.write('d', 10n, [one()], calm);
        await world.begin('d', 11n);
        const short = { ...one(), embedding: new Float32Array([0.6, 0.8]) };
        await world.store.write('d', 11n, [short], calm);
        await world.publish('d', 11n);
        await world.store.sweep('d', 11n);
        expect((await records()).ids).toEqual([]);
        expect((await records(2)).ids).toEqual(['d:11:0']);
      });

      it('goes on after its collection was deleted by somebody', async () => {
        await world.store.write('d', 10n, [one()], calm);
        await chroma.empty();
        expect(await world.store.search('d', 10n, at(0), 3)).toEqual([]);
        await world.store.write('d', 10n, [one(1)], calm);
        expect(await world.store.search('d', 10n, at(0), 3)).toHaveLength(1);
      });

      it('finds exactly the best of one document among many others', async () => {
        const random = (seed: number) => {
          const raw = Float32Array.from({ length: 8 }, (_, i) =>
            Math.sin(seed * 8.1 + i * 77.7 * seed),
          );
          const norm = Math.hypot(...raw);
          return raw.map((value) => value / norm);
        };
        const others = Array.from({ length: 3_000 }, (_, seq) => ({
          ...one(seq),
          embedding: random(seq + 1),
        }));
        const own = others
          .slice(0, 300)
          .map((each, seq) => ({ ...each, embedding: random(5_000 + seq) }));
        await world.put('other', 1n);
        await world.begin('other', 10n);
        await world.store.write('other', 10n, others, calm);
        await world.store.write('d', 10n, own, calm);
        for (const seed of [0.1, 0.2, 0.3, 0.4, 0.5]) {
          const query = random(seed);
          const cosine = (vector: Float32Array) =>
            vector.reduce((sum, value, i) => sum + value * (query[i] ?? 0), 0);
          const best = own
            .toSorted((a, b) => cosine(b.embedding) - cosine(a.embedding))
            .slice(0, 10);
          const hits = await world.store.search('d', 10n, query, 10);
          expect(hits.map(({ seq }) => seq)).toEqual(best.map(({ seq }) => seq));
          expect(hits[0]?.score).toBeCloseTo(cosine(best[0]!.embedding), 4);
        }
      });

      describe('that is away', () => {
        const away = { code: 'vectors_unavailable' };

        it('fails every call, and works again when it is back', async () => {
          await world.store.write('d', 10n, [one()], calm);
          await chroma.kill();
          try {
            await expect(world.store.write('d', 10n, [one(1)], calm)).rejects.toMatchObject(away);
            await expect(world.store.search('d', 10n, at(0), 3)).rejects.toMatchObject(away);
            await expect(world.store.sweep('d', 10n)).rejects.toMatchObject(away);
            await expect(world.store.ping()).rejects.toThrow(/ECONNREFUSED/);
          } finally {
            await chroma.restart();
          }
          await world.store.write('d', 10n, [one(1)], calm);
          expect(await world.store.search('d', 10n, at(0), 3)).toHaveLength(2);
          await world.store.ping();
        });

        it('frozen, keeps nobody waiting beyond the bound, nor a signal', async () => {
          await world.store.write('d', 10n, [one()], calm);
          chroma.pause();
          try {
            await expect(world.store.search('d', 10n, at(0), 3)).rejects.toThrow(
              /no answer within 1000 ms/,
            );
            const controller = new AbortController();
            const begun = performance.now();
            const writing = world.store.write('d', 10n, [one(1)], controller.signal);
            setTimeout(() => controller.abort(new Error('lease lost')), 100);
            await expect(writing).rejects.toThrow('lease lost');
            expect(performance.now() - begun).toBeLessThan(900);
          } finally {
            chroma.resume();
          }
        });
      });
    });
  });
});
