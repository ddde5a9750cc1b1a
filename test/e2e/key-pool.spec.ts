import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { fingerprintOf } from '../../src/key-pool/index.js';
import { startApp } from '../support/app.js';
import { type Cluster, startCluster } from '../support/cluster.js';
import { eventually } from '../support/eventually.js';
import { LlmStub } from '../support/llm-stub.js';

const keys = ['sk-secret-first', 'sk-secret-second', 'sk-secret-third'];
const [first, second, third] = keys.map(fingerprintOf);

interface Member {
  readonly fingerprint: string;
  readonly state: string;
  readonly inUse: number;
  readonly restsUntil: string | null;
  readonly why: string | null;
}
interface Pool {
  readonly code?: string;
  readonly concurrency: number;
  readonly queued: number;
  readonly members: readonly Member[];
}

const free = { state: 'free', inUse: 0, restsUntil: null, why: null };

describe('looking after the keys of the language model, at either of two replicas', () => {
  let stub: LlmStub;
  let cluster: Cluster;

  beforeAll(async () => {
    stub = await LlmStub.start();
    cluster = await startCluster(2, {
      LLM_BASE_URL: stub.url,
      LLM_API_KEYS: keys.join(','),
      LLM_CHAT_MODEL: 'small',
      LLM_WAIT_MS: '60000',
      RATE_LIMIT_PER_MINUTE: '0',
    });
    await cluster.clients[0]?.put('facts', 'Whales breathe air.');
    expect(await cluster.clients[0]?.process('facts')).toMatchObject({ status: 200 });
  }, 120_000);

  beforeEach(async () => {
    stub.forget();
    await cluster.keys.flushall();
  });

  afterAll(async () => {
    await cluster?.stop();
    await stub?.[Symbol.asyncDispose]();
  });

  const at = (replica: number) => request(cluster.replicas[replica]!.url);
  const ask = (replica: number) =>
    at(replica)
      .post('/documents/facts/questions')
      .send({ question: 'Who breathes air?' })
      .then((answer) => answer);
  const pool = async (replica: number) => (await at(replica).get('/pool').expect(200)).body as Pool;

  it('shows which is free, in use, resting or out of use and why, and who waits; never a key', async () => {
    expect(await pool(0)).toEqual({
      concurrency: 1,
      queued: 0,
      members: [first, second, third].map((fingerprint) => ({ fingerprint, ...free })),
    });
    let answerFirst = () => {};
    const when = new Promise<void>((resolve) => (answerFirst = resolve));
    stub.treat = (key) => {
      if (key === keys[0]) return { kind: 'answer', when };
      if (key === keys[2]) return { kind: 'refuse', status: 401 };
      return { kind: 'refuse', status: 429, headers: { 'retry-after': '300' } };
    };
    const slow = ask(0);
    await eventually(() => stub.count(keys[0] ?? '') === 1);
    const askedAt = Date.now();
    const waiting = ask(1);
    await eventually(async () => (await pool(0)).queued === 1, { what: 'a request to wait' });

    const shown = [await pool(0), await pool(1)];
    for (const { members, queued } of shown) {
      expect(queued).toBe(1);
      expect(members).toEqual([
        { fingerprint: first, state: 'leased', inUse: 1, restsUntil: null, why: null },
        {
          fingerprint: second,
          state: 'resting',
          inUse: 0,
          restsUntil: expect.any(String),
          why: '429',
        },
        { fingerprint: third, state: 'quarantined', inUse: 0, restsUntil: null, why: '401' },
      ]);
      const until = Date.parse(members[1]?.restsUntil ?? '');
      expect(until).toBeGreaterThan(askedAt + 299_000);
      expect(until).toBeLessThan(Date.now() + 301_000);
    }
    answerFirst();
    expect((await slow).status).toBe(201);
    expect((await waiting).status).toBe(201);

    const said = cluster.replicas.map(({ output }) => output).join('\n');
    expect(said).toContain(`Key ${second} was answered 429 and rests for 300000 ms`);
    expect(said).toContain(`Key ${third} was answered 401 and is out of use`);
    expect(said + JSON.stringify(shown)).not.toContain('secret');
  });

  it('readmits one that was refused, for all replicas and for who waits already', async () => {
    let answerFirst = () => {};
    const when = new Promise<void>((resolve) => (answerFirst = resolve));
    stub.treat = (key) =>
      key === keys[0] ? { kind: 'answer', when } : { kind: 'refuse', status: 403 };
    const slow = ask(0);
    await eventually(() => stub.count(keys[0] ?? '') === 1);
    const waiting = ask(1);
    await eventually(async () => (await pool(0)).queued === 1, { what: 'a request to wait' });

    stub.treat = () => ({ kind: 'answer' });
    const { status, body } = await at(0).post(`/pool/${third}/readmit`);
    expect(status).toBe(200);
    expect((body as Pool).members.map(({ why }) => why)).toEqual([null, '403', null]);
    expect((await waiting).status).toBe(201);
    expect(stub.requests.at(-1)?.key).toBe(keys[2]);
    answerFirst();
    expect((await slow).status).toBe(201);
    expect(cluster.replicas[0]?.output).toContain(`Key ${third} was readmitted`);
  });

  it('readmits one of which all were refused, and ends a rest', async () => {
    stub.treat = () => ({ kind: 'refuse', status: 401 });
    const refused = await ask(0);
    expect(refused).toMatchObject({ status: 503, body: { code: 'key_pool_refused' } });
    await at(1).post(`/pool/${second}/readmit`).expect(200);
    stub.treat = () => ({ kind: 'refuse', status: 429, headers: { 'retry-after': '300' } });
    expect(await ask(0)).toMatchObject({ status: 503, body: { code: 'key_pool_resting' } });
    await at(1).post(`/pool/${second}/readmit`).expect(200);
    stub.treat = () => ({ kind: 'answer' });
    expect((await ask(0)).status).toBe(201);
    await at(1).post(`/pool/${second}/readmit`).expect(200); // and again, which changes nothing
    expect((await pool(0)).members.map(({ state }) => state)).toEqual([
      'quarantined',
      'free',
      'quarantined',
    ]);
  });

  it('knows no other fingerprints, and no keys where none are set', async () => {
    const unknown = await at(0).post('/pool/0123456789ab/readmit');
    expect(unknown).toMatchObject({ status: 404, body: { code: 'key_not_found' } });
    for (const bad of [keys[0] ?? '', 'ABCDEFABCDEF', '0123456789abc']) {
      const { status, text } = await at(0).post(`/pool/${bad}/readmit`);
      expect([status, text]).toEqual([400, expect.stringContaining('GET /pool')]);
      expect(text).not.toContain('secret');
    }
    await using none = await startApp();
    for (const answer of [
      await request(none.url).get('/pool'),
      await request(none.url).post(`/pool/${first}/readmit`),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: { code: 'key_pool_not_found' } });
    }
  });

  it('answers 503 while Redis gives no answer', async () => {
    await cluster.redis.kill();
    for (const replica of [0, 1]) {
      const answer = await at(replica).get('/pool');
      expect(answer).toMatchObject({ status: 503, body: { code: 'lock_unavailable' } });
    }
    await cluster.redis.restart();
    await eventually(async () => (await at(0).get('/pool')).status === 200, {
      what: 'the pool to be shown again',
    });
  });
});
