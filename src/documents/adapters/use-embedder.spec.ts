import { afterAll, describe, expect, it } from '@jest/globals';
import { UseEmbedder } from './use-embedder.js';

const embedder = new UseEmbedder({ workers: 2 });
afterAll(() => embedder.close());

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}

describe('UseEmbedder', () => {
  it('gives one vector of unit length and the promised size per text, whatever the text', async () => {
    const odd = ['hello', '日本語', '\ud800', 'a\nb', '😀'.repeat(50), 'x', 'a b '.repeat(50_000)];
    const vectors = await embedder.embed(odd);
    expect(vectors).toHaveLength(odd.length);
    for (const vector of vectors) {
      expect(vector).toHaveLength(embedder.dimensions);
      expect(vector.buffer.byteLength).toBe(embedder.dimensions * 4);
      expect(cosine(vector, vector)).toBeCloseTo(1, 5);
    }
  });

  it('finds the related sentence, and gives the same vector in any batch', async () => {
    const texts = [
      'How do I renew a lock before it expires?',
      'A lease can be extended while its owner is alive.',
      'The recipe needs two eggs and some flour.',
    ];
    const [question, related, other] = await embedder.embed(texts);
    expect(cosine(question!, related!)).toBeGreaterThan(cosine(question!, other!));
    const crowd = await embedder.embed(Array.from({ length: 19 }, (_, i) => texts[i % 3]!));
    for (const [i, vector] of crowd.entries()) {
      expect(cosine(vector, [question, related, other][i % 3]!)).toBeCloseTo(1, 4);
    }
  });

  it('names the model with its version', () => {
    expect(embedder.model).toMatch(
      /^universal-sentence-encoder-lite-en@\d+\.\d+\.\d+\+\d+\.\d+\.\d+$/,
    );
  });

  it('reports progress after each batch of at most two, rising to the total', async () => {
    const seen: number[] = [];
    const texts = Array.from({ length: 20 }, (_, i) => `text ${i}`);
    await embedder.embed(texts, { onProgress: (done, total) => seen.push(done, total) });
    const done = seen.filter((_, i) => i % 2 === 0);
    expect(done).toHaveLength(10);
    expect(done.at(-1)).toBe(20);
    expect(
      done.every((value, i) => value > (done[i - 1] ?? 0) && value - (done[i - 1] ?? 0) <= 2),
    ).toBe(true);
    expect(await embedder.embed([], { onProgress: () => seen.push(-1) })).toEqual([]);
    expect(seen).not.toContain(-1);
  });

  it('never shows a blank text to the model', async () => {
    await expect(embedder.embed(['fine', ''])).rejects.toThrow('Text 1 is blank');
    await expect(embedder.embed([' \n'])).rejects.toThrow(RangeError);
  });

  it('stops between batches when aborted, and keeps the threads with their models', async () => {
    await embedder.embed(Array.from({ length: 16 }, () => 'warm up both threads'));
    const threads = embedder.threadIds;
    const lost = new Error('the lock is lost');
    const stop = new AbortController();
    const texts = Array.from({ length: 400 }, (_, i) => `text number ${i} `.repeat(20));
    const seen: number[] = [];
    const call = embedder.embed(texts, {
      signal: stop.signal,
      onProgress: (done) => {
        seen.push(done);
        stop.abort(lost);
      },
    });
    await expect(call).rejects.toBe(lost);
    await embedder.embed(['next']);
    await embedder.embed(['and next'], { signal: new AbortController().signal });
    expect(seen).toEqual([2]);
    expect(embedder.threadIds).toEqual(threads);
    await expect(embedder.embed(['x'], { signal: AbortSignal.abort(lost) })).rejects.toBe(lost);
  });

  it('ends a call whose progress callback throws, with that error', async () => {
    const onProgress = () => {
      throw new Error('row is stale');
    };
    await expect(embedder.embed(['a', 'b'], { onProgress })).rejects.toThrow('row is stale');
  });

  it('serves two documents in turns, and a query before both', async () => {
    const single = new UseEmbedder({ workers: 1 });
    const order: string[] = [];
    const document = (name: string) =>
      single.embed(
        Array.from({ length: 40 }, (_, i) => `${name} ${i}`),
        {
          onProgress: () => order.push(name),
        },
      );
    const first = document('a');
    const second = document('b');
    await single.embed(['a query'], {
      isUrgent: true,
      onProgress: () => order.push('query'),
    });
    expect(order.length).toBeLessThanOrEqual(2); // the batch that ran already, and the query
    await Promise.all([first, second]);
    const turns = order.filter((name) => name !== 'query').join('');
    expect(turns).toMatch(/^(?:ab){20}$/);
    await single.close();
  });
});

describe('the threads of UseEmbedder', () => {
  it('start with the first text and end with close', async () => {
    const own = new UseEmbedder({ workers: 1 });
    expect(own.threadIds).toEqual([]);
    await own.embed(['start']);
    expect(own.threadIds).toHaveLength(1);
    const running = own.embed(Array.from({ length: 50 }, () => 'word '.repeat(100)));
    const outcome = running.catch((error: unknown) => error);
    await own.close();
    expect(await outcome).toMatchObject({ code: 'thread_pool_closed' });
    expect(own.threadIds).toEqual([]);
    await own.close();
    await expect(own.embed(['late'])).rejects.toMatchObject({ code: 'thread_pool_closed' });
  });

  it('lose the one whose batch takes too long, and the next call gets a new one', async () => {
    const hasty = new UseEmbedder({ workers: 1, batchTimeoutMs: 1 });
    await expect(hasty.embed(['too slow'])).rejects.toMatchObject({
      code: 'embedding_failed',
      message: expect.stringContaining('1 ms'),
    });
    await expect(hasty.embed(['too slow'])).rejects.toMatchObject({ code: 'embedding_failed' });
    await hasty.close();
  });

  it('let an urgent call fail that comes to nothing in time, and only that one', async () => {
    const single = new UseEmbedder({ workers: 1, urgentTimeoutMs: 1 });
    const patient = single.embed(['a document']);
    await expect(single.embed(['a query'], { isUrgent: true })).rejects.toMatchObject({
      code: 'embedding_failed',
      message: expect.stringContaining('within 1 ms'),
    });
    expect(await patient).toHaveLength(1);
    await single.close();
  });

  it.each([{ workers: 0 }, { workers: 65 }, { batchTimeoutMs: Number.NaN }, { idleMs: -1 }])(
    'refuse the option %j',
    (options) => {
      expect(() => new UseEmbedder(options)).toThrow(RangeError);
    },
  );
});
