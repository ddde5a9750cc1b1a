import { describe, expect, it } from '@jest/globals';
import { DocumentNotFoundError } from './documents.errors.js';
import { SearchService } from './search.service.js';

const hit = { seq: 0, page: 1, text: 'found', score: 0.5 };

/** A search over one document whose published generation is, look by look, what the test says. */
function searching(published: (bigint | null | undefined)[], hits: Record<string, unknown[]>) {
  const asked: bigint[] = [];
  const documents = {
    find: async () => {
      const generation = published.length > 1 ? published.shift() : published[0];
      return generation === undefined ? null : { generation };
    },
  };
  const vectors = {
    search: async (_id: string, generation: bigint) => {
      asked.push(generation);
      return hits[String(generation)] ?? [];
    },
  };
  const embedder = { embed: async () => [new Float32Array(2)] };
  const service = new SearchService(documents as never, embedder as never, vectors as never);
  return { asked, result: service.search('a', 'q', 5) };
}

describe('a search', () => {
  it('looks into what is published', async () => {
    const { asked, result } = searching([7n], { 7: [hit] });
    expect(await result).toEqual({ id: 'a', query: 'q', passages: [hit] });
    expect(asked).toEqual([7n]);
  });

  it('starts again when what it looked into was replaced meanwhile', async () => {
    const { asked, result } = searching([7n, 8n], { 8: [hit] });
    expect(await result).toMatchObject({ passages: [hit] });
    expect(asked).toEqual([7n, 8n]);
  });

  it('finds nothing where nothing is published, and gives up on a pointer that never rests', async () => {
    expect(await searching([null], {}).result).toMatchObject({ passages: [] });
    expect(await searching([7n], {}).result).toMatchObject({ passages: [] });
    const restless = searching([1n, 2n, 3n, 4n, 5n], {});
    expect(await restless.result).toMatchObject({ passages: [] });
    expect(restless.asked).toEqual([1n, 2n, 3n]);
  });

  it('says when there is no document, also when it is deleted meanwhile', async () => {
    await expect(searching([undefined], {}).result).rejects.toThrow(DocumentNotFoundError);
    await expect(searching([7n, undefined], {}).result).rejects.toThrow(DocumentNotFoundError);
  });
});
