import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Passage, type VectorStore } from '../../../src/documents/ports/vector-store.js';

/** What the suite needs besides the store: the document's life around it. */
export interface VectorStoreWorld {
  readonly store: VectorStore;
  /** Creates or replaces the document under a fence; nothing is published afterwards. */
  put(id: string, fence: bigint): Promise<void>;
  /** Publishes a generation under its own fence. */
  publish(id: string, generation: bigint): Promise<void>;
  delete(id: string, fence: bigint): Promise<void>;
  /** Begins a run. */
  begin(id: string, fence: bigint): Promise<void>;
}

const calm = new AbortController().signal;
let seed = 1;

/** A vector of unit length in the direction of an angle, in the first two of eight dimensions. */
export function at(degrees: number): Float32Array {
  const radians = (degrees * Math.PI) / 180;
  return new Float32Array([Math.cos(radians), Math.sin(radians), 0, 0, 0, 0, 0, 0]);
}

function passage(seq: number, degrees: number, page: number | null = null): Passage {
  return { seq, page, text: `passage ${seq} of ${(seed += 1)}`, embedding: at(degrees) };
}

/** What every VectorStore must do; `open` gives an empty one. */
export function vectorStoreContract(open: () => Promise<VectorStoreWorld>): void {
  let world: VectorStoreWorld;
  beforeEach(async () => {
    world = await open();
    await world.put('d', 1n);
    await world.begin('d', 10n);
  });

  const seqs = async (id: string, generation: bigint, limit = 1_000): Promise<number[]> =>
    (await world.store.search(id, generation, at(0), limit)).map(({ seq }) => seq);

  describe('search', () => {
    it('gives the nearest first with their place, text and cosine', async () => {
      const passages = [passage(0, 90, 1), passage(1, 10, 2), passage(2, 60), passage(3, 180, 4)];
      await world.store.write('d', 10n, passages, calm);
      const hits = await world.store.search('d', 10n, at(0), 3);
      expect(hits).toEqual([
        { seq: 1, page: 2, text: passages[1]?.text, score: expect.closeTo(0.9848, 3) },
        { seq: 2, page: null, text: passages[2]?.text, score: expect.closeTo(0.5, 3) },
        { seq: 0, page: 1, text: passages[0]?.text, score: expect.closeTo(0, 3) },
      ]);
    });

    it('finds the best among many, and all when asked for more than there are', async () => {
      const many = Array.from({ length: 700 }, (_, seq) => passage(seq, 20 + (seq % 150)));
      await world.store.write('d', 10n, [...many, passage(700, 1)], calm);
      expect(await seqs('d', 10n, 1)).toEqual([700]);
      expect(await seqs('d', 10n, 6)).toEqual([700, 0, 150, 300, 450, 600]);
      expect(await seqs('d', 10n, 5_000)).toHaveLength(701);
    });

    it('is empty for what is not there', async () => {
      expect(await seqs('d', 10n)).toEqual([]);
      expect(await seqs('never', 10n)).toEqual([]);
    });

    it('sees one document and one generation only', async () => {
      await world.put('other', 1n);
      await world.begin('other', 10n);
      await world.store.write('d', 10n, [passage(0, 0), passage(1, 5)], calm);
      await world.store.write('other', 10n, [passage(7, 0)], calm);
      await world.begin('d', 11n);
      await world.store.write('d', 11n, [passage(0, 0)], calm);
      expect(await seqs('d', 10n)).toEqual([0, 1]);
      expect(await seqs('d', 11n)).toEqual([0]);
      expect(await seqs('other', 10n)).toEqual([7]);
    });

    it('refuses a query of another model', async () => {
      await world.store.write('d', 10n, [passage(0, 0)], calm);
      const search = world.store.search('d', 10n, new Float32Array([1, 0]), 3);
      await expect(search).rejects.toMatchObject({
        code: 'embedder_changed',
        message: expect.stringContaining('8 dimensions, and now 2'),
      });
    });
  });

  describe('write', () => {
    it('repeated does no harm, and replaces equal places', async () => {
      await world.store.write('d', 10n, [passage(0, 0), passage(1, 90)], calm);
      const again = passage(1, 0);
      await world.store.write('d', 10n, [again], calm);
      const hits = await world.store.search('d', 10n, at(0), 9);
      expect(hits.map(({ seq }) => seq)).toEqual([0, 1]);
      expect(hits[1]).toMatchObject({ text: again.text, score: expect.closeTo(1, 5) });
    });

    it.each([
      ['not of unit length', [new Float32Array([1, 1])]],
      ['not a number', [new Float32Array([Number.NaN, 1])]],
      ['not equally long', [at(0), new Float32Array([1])]],
    ])('refuses embeddings %s, and writes nothing', async (_, embeddings) => {
      const passages = embeddings.map((embedding, seq) => ({ ...passage(seq, 0), embedding }));
      await expect(world.store.write('d', 10n, passages, calm)).rejects.toThrow(RangeError);
      expect(await seqs('d', 10n)).toEqual([]);
    });

    it('stops when the signal aborts, with its reason', async () => {
      const controller = new AbortController();
      const passages = Array.from({ length: 2_000 }, (_, seq) => passage(seq, seq % 180));
      const writing = world.store.write('d', 10n, passages, controller.signal);
      setImmediate(() => controller.abort(new Error('lease lost')));
      await expect(writing).rejects.toThrow('lease lost');
      expect((await seqs('d', 10n, 3_000)).length).toBeLessThan(2_000);
      await expect(world.store.write('d', 10n, [passage(1, 1)], controller.signal)).rejects.toThrow(
        'lease lost',
      );
    });

    it.each(['a newer run', 'a replacement', 'a deletion', 'a deletion and re-creation'])(
      'refuses the write of a zombie after %s, also in the middle',
      async (event) => {
        await world.store.write('d', 10n, [passage(0, 0)], calm);
        if (event === 'a newer run') await world.begin('d', 11n);
        if (event === 'a replacement') await world.put('d', 11n);
        if (event.startsWith('a deletion')) await world.delete('d', 11n);
        if (event.endsWith('re-creation')) await world.put('d', 12n);
        await expect(world.store.write('d', 10n, [passage(1, 0)], calm)).rejects.toMatchObject({
          code: 'lease_lost',
          id: 'd',
          fence: 10n,
        });
        expect(await seqs('d', 10n)).not.toContain(1);
      },
    );

    it('refuses to write for a deleted document under any fence', async () => {
      await world.delete('d', 11n);
      await expect(world.store.write('d', 12n, [passage(0, 0)], calm)).rejects.toMatchObject({
        code: 'lease_lost',
      });
      expect(await seqs('d', 12n)).toEqual([]);
    });

    it('refuses to write for a document that never was', async () => {
      await expect(world.store.write('never', 10n, [passage(0, 0)], calm)).rejects.toMatchObject({
        code: 'lease_lost',
      });
    });
  });

  describe('sweep', () => {
    beforeEach(async () => {
      for (const generation of [10n, 11n, 12n]) {
        await world.begin('d', generation);
        await world.store.write('d', generation, [passage(0, 0)], calm);
      }
    });

    async function generations(): Promise<bigint[]> {
      const found: bigint[] = [];
      for (const generation of [10n, 11n, 12n, 13n]) {
        if ((await seqs('d', generation)).length > 0) found.push(generation);
      }
      return found;
    }

    it('removes the generations below the one to keep, of that document only', async () => {
      await world.put('other', 1n);
      await world.begin('other', 10n);
      await world.store.write('other', 10n, [passage(0, 0)], calm);
      await world.publish('d', 12n);
      await world.store.sweep('d', 12n);
      expect(await generations()).toEqual([12n]);
      expect(await seqs('other', 10n)).toEqual([0]);
    });

    it('of a zombie removes neither what is published nor what is in progress', async () => {
      await world.publish('d', 12n);
      await world.begin('d', 13n);
      await world.store.write('d', 13n, [passage(0, 0)], calm);
      await world.store.sweep('d', 13n);
      expect(await generations()).toEqual([12n, 13n]);
      await world.store.sweep('d', null);
      expect(await generations()).toEqual([12n, 13n]);
    });

    it('with null removes what a replaced document has left behind', async () => {
      await world.publish('d', 12n);
      await world.put('d', 13n);
      await world.store.sweep('d', null);
      expect(await generations()).toEqual([]);
    });

    it('with null spares the run that is in progress after the replacement', async () => {
      await world.put('d', 12n);
      await world.begin('d', 13n);
      await world.store.write('d', 13n, [passage(0, 0)], calm);
      await world.store.sweep('d', null);
      expect(await generations()).toEqual([13n]);
    });

    it('never removes the run in progress, not even for a keep from the future', async () => {
      await world.store.sweep('d', 99n);
      expect(await generations()).toEqual([12n]);
    });

    it('with null removes what was written under the fence of the deletion itself', async () => {
      await world.delete('d', 12n);
      await world.store.sweep('d', null);
      expect(await generations()).toEqual([]);
    });

    it('with null removes everything of a deleted document', async () => {
      await world.publish('d', 12n);
      await world.delete('d', 13n);
      await world.store.sweep('d', null);
      expect(await generations()).toEqual([]);
    });
  });

  it('counts the passages of one generation', async () => {
    await world.store.write('d', 10n, [passage(0, 0), passage(1, 0)], calm);
    await world.begin('d', 11n);
    await world.store.write('d', 11n, [passage(0, 0)], calm);
    expect(await world.store.count('d', 10n)).toBe(2);
    expect(await world.store.count('d', 11n)).toBe(1);
    expect(await world.store.count('d', 12n)).toBe(0);
    expect(await world.store.count('never', 10n)).toBe(0);
  });

  it('answers a ping', async () => {
    await expect(world.store.ping()).resolves.toBeUndefined();
  });
}
