import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Post, Res } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Idempotent, MemoryIdempotencyStore } from '../../../src/idempotency/index.js';
import { eventually } from '../../support/eventually.js';
import { probe, startProbe } from './probe.js';

let app: NestFastifyApplication;
const store = new MemoryIdempotencyStore();
let keys = 0;
const newKey = () => `"key ${(keys += 1)}"`;

beforeAll(async () => {
  app = await startProbe(store);
});

afterAll(() => app?.close());

beforeEach(() => {
  probe.runs = 0;
  probe.gate = Promise.resolve();
});

const post = (url: string, key?: string, payload?: string | object, user = 'me') =>
  app.inject({
    method: 'POST',
    url,
    headers: {
      'x-user': user,
      ...(key && { 'idempotency-key': key }),
      ...(payload !== undefined && { 'content-type': 'application/json' }),
    },
    ...(payload !== undefined && { payload }),
  });

/** Holds the work of `count` until `open` is called. */
function holdWork(): () => void {
  let open = () => {};
  probe.gate = new Promise((resolve) => (open = resolve));
  return open;
}

describe('a handler with @Idempotent()', () => {
  it('works once per key, and gives status, headers and body again', async () => {
    const key = newKey();
    const first = await post('/count/a', key, { x: 1 });
    expect(first.statusCode).toBe(201);
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    const again = await post('/count/a', key, '{ "x" :1}');
    expect(probe.runs).toBe(1);
    expect(again.statusCode).toBe(201);
    expect(again.body).toBe(first.body);
    expect(again.headers).toMatchObject({
      'content-type': first.headers['content-type'],
      location: '/counts/1',
      etag: '"7"',
      'idempotency-replayed': 'true',
    });
    expect(again.headers['x-moment']).toBeUndefined();
  });

  it('works each time without a key, and refuses that where one is required', async () => {
    for (const n of [1, 2]) expect((await post('/count/a')).json()).toMatchObject({ n });
    const refused = await post('/required');
    expect(refused.statusCode).toBe(400);
    expect(refused.json()).toMatchObject({ code: 'idempotency_key_missing' });
    expect((await post('/required', newKey())).statusCode).toBe(201);
  });

  it('refuses what is no key', async () => {
    const refused = await post('/count/a', 'a, b');
    expect(refused.statusCode).toBe(400);
    expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(refused.json()).toMatchObject({ code: 'idempotency_key_invalid' });
    expect(probe.runs).toBe(0);
  });

  it('takes one key on two addresses, or of two principals, for two operations', async () => {
    const key = newKey();
    expect((await post('/count/a', key)).json()).toMatchObject({ n: 1, id: 'a' });
    expect((await post('/count/b', key)).json()).toMatchObject({ n: 2, id: 'b' });
    expect((await post('/count/a', key, undefined, 'you')).json()).toMatchObject({ n: 3 });
    expect((await post('/text', key)).body).toBe('run 4');
  });

  it('refuses a second request that differs with 422, before, while and after the first runs', async () => {
    const key = newKey();
    const open = holdWork();
    const first = post('/count/a', key, { x: 1 });
    await eventually(() => probe.runs === 1);
    const differs = await post('/count/a', key, { x: 2 });
    expect(differs.statusCode).toBe(422);
    expect(differs.json()).toMatchObject({ code: 'idempotency_key_reused' });
    open();
    expect((await first).statusCode).toBe(201);
    expect((await post('/count/a', key, { x: 2 })).statusCode).toBe(422);
    expect(probe.runs).toBe(1);
  });

  it('answers 409 with Retry-After while the first still runs', async () => {
    const key = newKey();
    const open = holdWork();
    const first = post('/count/a', key);
    await eventually(() => probe.runs === 1);
    const early = await post('/count/a', key);
    expect(early.statusCode).toBe(409);
    expect(early.json()).toMatchObject({ code: 'idempotency_in_progress' });
    expect(Number(early.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    open();
    const { body } = await first;
    expect((await post('/count/a', key)).body).toBe(body);
  });

  it.each([400, 403, 404, 409, 413, 422])('keeps a final %d', async (status) => {
    const key = newKey();
    const first = await post(`/fail/${status}`, key);
    const again = await post(`/fail/${status}`, key);
    expect([first.statusCode, again.statusCode, probe.runs]).toEqual([status, status, 1]);
    expect(again.body).toBe(first.body);
    expect(again.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });

  it.each([408, 423, 425, 429, 500, 502, 503])('does not keep %d', async (status) => {
    const key = newKey();
    for (const runs of [1, 2]) {
      const answer = await post(`/fail/${status}`, key);
      expect(answer.headers['idempotency-replayed']).toBeUndefined();
      expect(probe.runs).toBe(runs);
    }
    // The key is as good as new.
    expect((await post(`/fail/${status}`, key, { other: 1 })).statusCode).not.toBe(422);
  });

  it('works again after a fault, though the first may have had its effect', async () => {
    const key = newKey();
    for (const runs of [1, 2]) {
      expect((await post('/crash', key)).statusCode).toBe(500);
      expect(probe.runs).toBe(runs);
    }
  });

  it('gives an empty answer and a text again', async () => {
    const [empty, text] = [newKey(), newKey()];
    for (const replayed of [undefined, 'true']) {
      const nothing = await post('/empty', empty);
      expect([nothing.statusCode, nothing.body]).toEqual([204, '']);
      expect(nothing.headers['idempotency-replayed']).toBe(replayed);
      const words = await post('/text', text);
      expect([words.statusCode, words.body]).toEqual([200, 'run 2']);
      expect(words.headers['content-type']).toMatch(/^text\/plain/);
    }
    expect(probe.runs).toBe(2);
  });

  it.each([
    ['large', 256 * 1024 + 11],
    ['stream', 2],
  ])('does not keep an answer that is %s, says so, and frees the key', async (path, length) => {
    const key = newKey();
    for (const runs of [1, 2]) {
      const answer = await post(`/${path}`, key);
      expect(answer.statusCode).toBe(201);
      expect(answer.body).toHaveLength(length);
      expect(answer.headers['idempotency-stored']).toBe('false');
      expect(probe.runs).toBe(runs);
    }
  });

  it('does not keep a final error that is too large, says so, and frees the key', async () => {
    const key = newKey();
    for (const runs of [1, 2]) {
      const answer = await post('/fail-at-length', key);
      expect(answer.statusCode).toBe(400);
      expect(answer.body.length).toBeGreaterThan(256 * 1024);
      expect(answer.headers['idempotency-stored']).toBe('false');
      expect(probe.runs).toBe(runs);
    }
  });

  it('frees the key of an answer that bypassed the framework', async () => {
    const key = newKey();
    for (const runs of [1, 2]) {
      expect((await post('/raw', key)).body).toBe('raw');
      await eventually(async () => probe.runs === runs);
    }
  });

  it('cannot be put on a handler that ends the response itself', () => {
    expect(() => {
      @Controller()
      class Wrong {
        @Post()
        @Idempotent()
        end(@Res() _reply: unknown): void {}
      }
      return Wrong;
    }).toThrow(/Wrong\.end/);
  });
});

describe('work that takes longer than its answer is kept', () => {
  const ttlMs = 50;
  let brief: NestFastifyApplication;

  beforeAll(async () => {
    brief = await startProbe(new MemoryIdempotencyStore(), ttlMs);
  });

  afterAll(() => brief?.close());

  it('has its answer given and kept, and its key taken all the time', async () => {
    const send = (payload: object) =>
      brief.inject({
        method: 'POST',
        url: '/count/a',
        headers: { 'idempotency-key': 'long' },
        payload,
      });
    const open = holdWork();
    const first = send({ x: 1 });
    await eventually(() => probe.runs === 1);
    const startedAt = performance.now();
    await eventually(() => performance.now() - startedAt > 2 * ttlMs);
    expect((await send({ x: 1 })).json()).toMatchObject({ code: 'idempotency_in_progress' });
    expect((await send({ x: 2 })).json()).toMatchObject({ code: 'idempotency_key_reused' });
    open();
    expect((await first).json()).toMatchObject({ n: 1 });
    await eventually(async () => (await send({ x: 1 })).json<{ n: number }>().n === 2);
  });
});

describe('a store in trouble', () => {
  const trouble = Object.assign(new Error('away'), { code: 'idempotency_unavailable' });

  it('before the work keeps it from beginning, with 503, and leaves no mark', async () => {
    const key = newKey();
    jest.spyOn(store, 'begin').mockRejectedValueOnce(trouble);
    const refused = await post('/count/a', key);
    expect(refused.statusCode).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    expect(probe.runs).toBe(0);
    expect((await post('/count/a', key)).statusCode).toBe(201);
  });

  it('after the work withholds an answer that a repetition might not get', async () => {
    const key = newKey();
    jest.spyOn(store, 'finish').mockRejectedValueOnce(trouble);
    expect((await post('/count/a', key)).statusCode).toBe(503);
    expect((await post('/count/a', key)).json()).toMatchObject({ n: 2 });
  });

  it('cannot hide what the work said, nor block the key', async () => {
    const key = newKey();
    jest.spyOn(store, 'drop').mockRejectedValueOnce(trouble);
    expect((await post('/fail/423', key)).statusCode).toBe(423);
    expect((await post('/fail/423', key)).statusCode).toBe(423);
    expect(probe.runs).toBe(2);
  });

  it('withholds the answer of a run whose mark was lost to another', async () => {
    const key = newKey();
    jest.spyOn(store, 'finish').mockResolvedValueOnce('stale');
    const lost = await post('/count/a', key);
    expect(lost.statusCode).toBe(503);
    expect(lost.json()).toMatchObject({ code: 'idempotency_mark_lost' });
  });
});
