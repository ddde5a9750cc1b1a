import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Cluster, startCluster } from '../support/cluster.js';
import { type Answer } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';

type Reply = Answer<Record<string, unknown>>;

const isReplay = ({ headers }: Reply) => headers.get('idempotency-replayed') === 'true';

describe('Idempotency-Key over three replicas', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster(3, { LOCK_TTL_MS: '3000', DEMO_STEP_DELAY_MS: '400' });
  }, 60_000);

  afterAll(() => cluster?.stop());

  const client = (index: number) => cluster.clients[index]!;
  const post = (at: number, path: string, key: string, body?: unknown): Promise<Reply> =>
    client(at).send(path, {
      method: 'POST',
      headers: {
        'idempotency-key': `"${key}"`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const form = (at: number, key: string, text: string): Promise<Reply> => {
    const body = new FormData();
    body.append('file', new Blob([text], { type: 'text/plain' }), 'twenty.txt');
    return client(at).send('/documents', {
      method: 'POST',
      headers: { 'idempotency-key': key },
      body,
    });
  };
  const isState = (id: string, state: string, at: number) =>
    eventually(async () => (await client(at).get(id)).state === state, {
      timeoutMs: 20_000,
      what: `document ${id} to be ${state}`,
    });

  it('makes one document of twenty uploads in one instant, each a form with a boundary of its own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => form(index % 3, 'twenty', 'Twenty times.')),
    );
    const created = answers.filter(({ status }) => status === 201);
    const early = answers.filter(({ status }) => status === 409);
    expect(created.length + early.length).toBe(20);
    expect(created.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(created.map(({ body }) => body['id'])).size).toBe(1);
    for (const { headers, body } of early) {
      expect(body['code']).toBe('idempotency_in_progress');
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    const replayed = await form(1, '"twenty"', 'Twenty times.');
    expect(replayed).toMatchObject({ status: 201, body: created[0]!.body });
    expect(isReplay(replayed)).toBe(true);
    expect(replayed.headers.get('location')).toBe(`/documents/${String(replayed.body['id'])}`);
    expect(await form(2, 'twenty', 'Another file.')).toMatchObject({ status: 422 });
    const list = await client(0).send<{ items: unknown[] }>('/documents');
    expect(list.body.items).toHaveLength(1);
  });

  it('processes once, tells who comes early that it runs, and who asks for other things no', async () => {
    await client(0).put('once', 'A text that is processed once.');
    const first = post(0, '/documents/once/process', 'p');
    await isState('once', 'processing', 1);
    const [same, differs, otherKey] = await Promise.all([
      post(1, '/documents/once/process', 'p'),
      post(2, '/documents/once/process', 'p', { other: 1 }),
      post(1, '/documents/once/process', 'q'),
    ]);
    expect(same.status).toBe(409); // not 423: the mark comes before the document's lock
    expect(differs.status).toBe(422);
    expect(otherKey.status).toBe(423);
    const done = await first;
    expect(done.status).toBe(200);
    const again = await post(2, '/documents/once/process', 'p');
    expect(isReplay(again)).toBe(true);
    expect(again).toMatchObject({ status: 200, body: done.body });
    // The 423 was no answer to keep.
    const other = await post(2, '/documents/once/process', 'q');
    expect(other).toMatchObject({ status: 200, body: { unchanged: true } });
    expect(isReplay(other)).toBe(false);
    expect(await cluster.keys.keys('lock:idem:*')).toEqual([]);
  });

  it('gives an accepted order again, and an archive run', async () => {
    await client(0).put('later', 'A text for later.');
    const init = {
      method: 'POST',
      headers: { 'idempotency-key': 'a', prefer: 'respond-async' },
    };
    const accepted = await client(0).send<Record<string, unknown>>(
      '/documents/later/process',
      init,
    );
    const again = await client(1).send<Record<string, unknown>>('/documents/later/process', init);
    for (const { status, headers } of [accepted, again]) {
      expect(status).toBe(202);
      expect(headers.get('location')).toBe('/documents/later');
      expect(headers.get('preference-applied')).toBe('respond-async');
    }
    expect([isReplay(accepted), isReplay(again)]).toEqual([false, true]);
    const run = await post(0, '/archive/run', 'a');
    expect(run.status).toBe(200);
    const repeated = await post(1, '/archive/run', 'a');
    expect(isReplay(repeated)).toBe(true);
    expect(repeated.body).toEqual(run.body);
    await isState('later', 'ready', 0);
  });

  it('keeps the answer for a client that has gone away', async () => {
    await client(0).put('gone', 'A text whose reader leaves.');
    const leave = new AbortController();
    const left = client(0).process('gone', {
      headers: { 'idempotency-key': 'g' },
      signal: leave.signal,
    });
    await isState('gone', 'processing', 1);
    leave.abort();
    await expect(left).rejects.toThrow('aborted');
    const answer = await eventually(
      async () => {
        const retried = await post(1, '/documents/gone/process', 'g');
        return retried.status !== 409 && retried;
      },
      { timeoutMs: 20_000, everyMs: 100, what: 'the answer that was left behind' },
    );
    expect(answer).toMatchObject({ status: 200, body: { unchanged: false } });
    expect(isReplay(answer)).toBe(true);
  });

  it('gives a proxy that lost its replica and asks another one the answer of the only run', async () => {
    await client(0).put('proxied', 'A text behind a proxy.');
    await using front = await FaultProxy.start({
      port: Number(new URL(cluster.replicas[0]!.url).port),
    });
    const headers = { 'idempotency-key': 'proxied' };
    const ask = (port: number) =>
      fetch(`http://127.0.0.1:${port}/documents/proxied/process`, { method: 'POST', headers });
    const broken = ask(front.port).catch(String);
    await isState('proxied', 'processing', 1);
    front.resetConnections();
    expect(await broken).toMatch(/fetch failed|terminated/);
    const during = await post(1, '/documents/proxied/process', 'proxied');
    expect(during).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } });
    expect(Number(during.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const answers = await Promise.all(
      [1, 2, 0].map((at) =>
        eventually(
          async () => {
            const retried = await post(at, '/documents/proxied/process', 'proxied');
            return retried.status !== 409 && retried;
          },
          { timeoutMs: 20_000, everyMs: 100, what: 'the answer' },
        ),
      ),
    );
    for (const answer of answers) {
      expect(isReplay(answer)).toBe(true);
      expect(answer).toMatchObject({ status: 200, body: { unchanged: false } });
      expect(answer.body).toEqual(answers[0]!.body);
    }
  });

  it('tells a form without a file what it lacks, as it does without a key', async () => {
    const titled = new FormData();
    titled.append('title', 'Nothing');
    for (const [key, body] of [
      ['f1', titled],
      ['f2', new FormData()],
    ] as const) {
      const [plain, keyed] = [undefined, key].map((sent) =>
        client(2).send<Record<string, unknown>>('/documents', {
          method: 'POST',
          headers: sent ? { 'idempotency-key': sent } : {},
          body,
        }),
      );
      const { status, body: problem } = await plain!;
      expect(status).toBe(400);
      expect(await keyed!).toMatchObject({ status, body: problem });
    }
  });

  it('keeps a final 404', async () => {
    const missing = await post(0, '/documents/nobody/process', 'm');
    await client(1).put('nobody', 'Somebody after all.');
    const again = await post(1, '/documents/nobody/process', 'm');
    expect([missing.status, again.status]).toEqual([404, 404]);
    expect(again.body).toEqual(missing.body);
    expect(isReplay(again)).toBe(true);
  });

  it('blocks a key for one lease when its worker is killed, not for a day', async () => {
    await client(1).put('orphan', 'A text whose worker dies.');
    const lost = post(0, '/documents/orphan/process', 'k').catch(String);
    await isState('orphan', 'processing', 1);
    await cluster.replicas[0]!.kill('SIGKILL');
    expect(await lost).toMatch(/fetch failed|terminated/);
    const done = await eventually(
      async () => {
        const retried = await post(1, '/documents/orphan/process', 'k');
        expect([200, 409, 423]).toContain(retried.status);
        return retried.status === 200 && retried;
      },
      { timeoutMs: 20_000, everyMs: 200, what: 'the lease of the dead to run out' },
    );
    expect(isReplay(done)).toBe(false);
    expect(isReplay(await post(2, '/documents/orphan/process', 'k'))).toBe(true);
  });

  it('begins nothing while nobody knows who works', async () => {
    await cluster.redis.kill();
    try {
      const refused = await post(1, '/documents/once/process', 'r');
      expect(refused).toMatchObject({ status: 503, body: { code: 'lock_unavailable' } });
      expect(refused.headers.get('retry-after')).not.toBeNull();
    } finally {
      await cluster.redis.restart();
    }
    await eventually(async () => (await post(1, '/documents/once/process', 'r')).status === 200, {
      timeoutMs: 20_000,
    });
  });
});
