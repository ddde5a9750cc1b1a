import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  fingerprintOf,
  KeyPool,
  MemoryPoolStore,
  type PoolTerms,
} from '../../../src/key-pool/index.js';
import { MemoryPools } from '../../../src/key-pool/stores/memory/memory-pool-store.js';
import { LlmEmbedder } from '../../../src/documents/adapters/llm-embedder.js';
import { LlmClient } from '../../../src/llm/index.js';
import { eventually } from '../../support/eventually.js';
import { LlmStub } from '../../support/llm-stub.js';

const keys = ['sk-secret-one', 'sk-secret-two', 'sk-secret-three'];
const hello = [{ role: 'user', content: 'Hello?' }] as const;

let stub: LlmStub;
let pools: KeyPool[] = [];

beforeAll(async () => {
  stub = await LlmStub.start();
});

beforeEach(() => stub.forget());

afterEach(async () => {
  await Promise.all(pools.map((pool) => pool.shutdown(0)));
  pools = [];
});

afterAll(() => stub[Symbol.asyncDispose]());

/** Replicas that share their keys. */
function setUp({
  waitMs = 20_000,
  timeoutMs = 20_000,
  ...terms
}: Partial<PoolTerms> & { waitMs?: number; timeoutMs?: number } = {}) {
  const shared = new MemoryPools();
  return () => {
    const given = { members: keys.map(fingerprintOf), concurrency: 1, ...terms };
    const store = new MemoryPoolStore(given, undefined, shared);
    const pool = new KeyPool({ name: 'llm', keys, store, ttlMs: 3_000 });
    pools.push(pool);
    return { pool, client: new LlmClient({ baseUrl: stub.url, pool, waitMs, timeoutMs }) };
  };
}

function refuseBut(good: string, status: number, headers: Record<string, string> = {}): void {
  stub.treat = (key) => (key === good ? { kind: 'answer' } : { kind: 'refuse', status, headers });
}

describe('the client of a language model', () => {
  it('gives a streamed answer whole, and piece by piece', async () => {
    const pieces: string[] = [];
    const { client } = setUp()();
    const answer = await client.chat('small', hello, { onPiece: (piece) => pieces.push(piece) });
    expect(answer).toEqual({ text: 'It is so [1].', model: 'small', cutOff: null });
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join('')).toBe(answer.text);
    expect(stub.requests[0]).toMatchObject({ path: '/v1/chat/completions', key: keys[0] });
  });

  it.each([
    ['length', 'length'],
    ['content_filter', 'filter'],
    ['stop', null],
    ['eos_token', null], // a server's own word
  ])('says of an answer that ends by "%s" whether it was cut off: %s', async (finish, cutOff) => {
    stub.treat = () => ({ kind: 'answer', text: 'It is', finish });
    const answer = await setUp()().client.chat('small', hello);
    expect(answer).toEqual({ text: 'It is', model: 'small', cutOff });
    expect(stub.requests).toHaveLength(1);
  });

  it('sends the one key that it holds, in one header, and no other', async () => {
    await setUp()().client.chat('small', hello);
    const { authorization, ...others } = stub.requests[0]?.headers ?? {};
    expect(authorization).toBe(`Bearer ${keys[0]}`);
    expect(JSON.stringify([others, stub.requests[0]?.body])).not.toContain('secret');
  });

  it('never uses a key twice at once, over replicas, and spreads the calls over all keys', async () => {
    const replica = setUp();
    const clients = [replica().client, replica().client];
    stub.treat = (_key, n) => ({ kind: 'answer', afterMs: n % 5 });
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => (clients[n % 2] as LlmClient).chat('small', hello)),
    );
    expect(stub.mostAtOnce).toBe(1);
    expect(stub.requests).toHaveLength(30);
    for (const key of keys) expect(stub.count(key)).toBeGreaterThan(5);
  });

  it.each([
    ['seconds', { 'retry-after': '90' }],
    [
      'a date',
      { date: 'Mon, 30 Nov 2026 04:00:00 GMT', 'retry-after': 'Mon, 30 Nov 2026 04:01:30 GMT' },
    ],
  ])(
    'tries the third key when the first two are told to rest, by %s, on all replicas',
    async (_how, headers) => {
      const replica = setUp();
      refuseBut('sk-secret-three', 429, headers);
      const { client, pool } = replica();
      await client.chat('small', hello);
      expect(stub.requests.map(({ key }) => key)).toEqual(keys);
      const [one, two, three] = (await replica().pool.inspect()).members;
      for (const state of [one, two]) {
        expect(state?.restsMs).toBeGreaterThan(60_000);
        expect(state?.restsMs).toBeLessThanOrEqual(90_000);
      }
      expect(three?.restsMs).toBe(0);
      for (let n = 0; n < 3; n += 1) await replica().client.chat('small', hello);
      expect(stub.requests).toHaveLength(6); // the resting ones were left alone
      await pool.shutdown(0);
    },
  );

  it.each([401, 403])('puts a key out of use that is answered %i, and goes on', async (status) => {
    const { client, pool } = setUp()();
    refuseBut('sk-secret-two', status);
    for (let n = 0; n < 4; n += 1) await client.chat('small', hello);
    expect(stub.requests).toHaveLength(6); // one look at each of the two
    expect((await pool.inspect()).members.map(({ quarantine }) => quarantine)).toEqual([
      String(status),
      undefined,
      String(status),
    ]);
  });

  it('says when the first key is back, where all rest for longer than the call would wait', async () => {
    const { client } = setUp({ waitMs: 1_000 })();
    stub.treat = () => ({ kind: 'refuse', status: 429, headers: { 'retry-after': '40' } });
    const error = await client.chat('small', hello).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'key_pool_resting', retryAfterSeconds: 40 });
    expect(stub.requests).toHaveLength(3);
  });

  it.each([
    ['no time at all', { 'retry-after': '0' }],
    ['a time that has passed', { 'retry-after': 'Mon, 30 Nov 2020 04:00:00 GMT' }],
  ])(
    'leaves a key alone for a second that is told to rest for %s, and ends with its budget',
    async (_what, headers) => {
      const { client } = setUp({ waitMs: 1_500 })();
      stub.treat = () => ({ kind: 'refuse', status: 429, headers });
      const error = await client.chat('small', hello).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'key_pool_resting', retryAfterSeconds: 1 });
      expect(stub.requests).toHaveLength(6); // each key once, and once more after its rest
    },
  );

  it('ends with its budget also where some key is always back by then, having asked each', async () => {
    const { client } = setUp({ waitMs: 1_000 })();
    const headers = { 'retry-after': '0' };
    stub.treat = () => ({ kind: 'refuse', status: 429, headers, afterMs: 600 });
    const error = await client.chat('small', hello).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'key_pool_resting', retryAfterSeconds: 1 });
    expect(new Set(stub.requests.map(({ key }) => key)).size).toBe(3);
    expect(stub.requests.length).toBeLessThan(6);
  });

  it('survives failures and answers that are cut off, and gives up after a few, with no key in what it says', async () => {
    const { client } = setUp()();
    let calls = 0;
    stub.treat = () => {
      calls += 1;
      if (calls === 1) return { kind: 'refuse', status: 500 };
      return calls === 2 ? { kind: 'cut-off' } : { kind: 'answer' };
    };
    const restarts: boolean[] = [];
    const call = { onPiece: (_piece: string, restarted: boolean) => restarts.push(restarted) };
    expect((await client.chat('small', hello, call)).text).toBe('It is so [1].');
    expect(restarts.filter(Boolean)).toHaveLength(1);
    stub.forget();
    stub.treat = () => ({ kind: 'refuse', status: 500 });
    const error = (await client.chat('small', hello).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code: 'llm_unavailable' });
    expect(stub.requests).toHaveLength(3);
    expect(error.message).not.toContain('secret');
    expect(error.message).toContain(fingerprintOf(stub.requests[2]?.key ?? ''));
    stub.treat = () => ({ kind: 'refuse', status: 400 });
    await expect(client.chat('small', hello)).rejects.toMatchObject({
      code: 'llm_request_refused',
    });
    expect(stub.requests).toHaveLength(4);
  });

  it('gives a slow server up, and its key back', async () => {
    const { client, pool } = setUp({ timeoutMs: 300 })();
    stub.treat = () => ({ kind: 'answer', afterMs: 60_000 });
    await expect(client.chat('small', hello)).rejects.toMatchObject({ code: 'llm_unavailable' });
    await eventually(() => stub.requests.every(({ aborted }) => aborted));
    expect((await pool.inspect()).members.map(({ inUse }) => inUse)).toEqual([0, 0, 0]);
  });

  it('aborts a request whose caller has gone, or whose lease is lost', async () => {
    const { client, pool } = setUp()();
    stub.treat = (_key, n) => ({ kind: 'answer', afterMs: n === 0 ? 60_000 : 0 });
    const controller = new AbortController();
    const gone = client.chat('small', hello, { signal: controller.signal });
    await eventually(() => stub.requests.length === 1);
    controller.abort(new Error('the caller has gone'));
    await expect(gone).rejects.toThrow('the caller has gone');
    await eventually(() => stub.requests[0]?.aborted === true);
    const ended = client.chat('small', hello).catch((thrown: unknown) => thrown);
    await eventually(() => stub.requests.length === 2);
    await pool.shutdown(0);
    expect(await ended).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await eventually(() => stub.requests[1]?.aborted === true);
  });

  it('counts what was used against the minute of the key that was used', async () => {
    const { client, pool } = setUp({ tokensPerMinute: 100 })(); // an answer is a hundred
    await client.chat('small', hello);
    expect((await pool.inspect()).members.map(({ restsMs }) => restsMs > 0)).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('its embeddings', () => {
  it('come in batches, in order, of unit length, and are cancelled between', async () => {
    const { client } = setUp()();
    const embedder = new LlmEmbedder({ client, model: 'embed', dimensions: 8 });
    const texts = Array.from({ length: 150 }, (_, n) => `text ${n}`);
    const done: number[] = [];
    const vectors = await embedder.embed(texts, { onProgress: (count) => done.push(count) });
    expect(vectors).toHaveLength(150);
    expect(done).toEqual([64, 128, 150]);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    const [alone] = await embedder.embed(['text 77']);
    expect(vectors[77]).toEqual(alone);
    await expect(embedder.embed([' '])).rejects.toThrow(RangeError);
    await expect(
      new LlmEmbedder({ client, model: 'embed', dimensions: 9 }).embed(['a']),
    ).rejects.toThrow(/LLM_EMBED_DIMENSIONS/);
    await embedder.close();
    await expect(embedder.embed(['a'])).rejects.toMatchObject({ code: 'embedding_failed' });
  });
});
