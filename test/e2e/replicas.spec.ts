import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Cluster, startCluster } from '../support/cluster.js';
import { type DocumentBody } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { readUntil } from '../support/sse.js';

const ttlMs = 2_000;

describe('three replicas on one Redis and one data folder', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster(3, { LOCK_TTL_MS: String(ttlMs), DEMO_STEP_DELAY_MS: '150' });
  });

  afterAll(() => cluster?.stop());

  const client = (index: number) => cluster.clients[index]!;
  const isState = (id: string, state: string, at: number) =>
    eventually(async () => (await client(at).get(id)).state === state, {
      what: `document ${id} to be ${state}`,
    });

  it('let one of ten requests work, tell nine that it is busy, and leave no lock', async () => {
    await client(0).put('ten', 'The text of ten requests.');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => client(index % 3).process('ten')),
    );
    const served = new Set(answers.map(({ headers }) => headers.get('x-served-by')));
    expect(served).toEqual(new Set(['replica-1', 'replica-2', 'replica-3']));
    const [winner, ...others] = answers.toSorted((a, b) => a.status - b.status);
    expect(winner).toMatchObject({ status: 200, body: { status: 'ok', id: 'ten', chunks: 1 } });
    for (const { status, headers, body } of others) {
      expect(status).toBe(423);
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(body).toEqual({
        type: 'urn:doclock:problem:lock_busy',
        title: expect.any(String),
        status: 423,
        code: 'lock_busy',
        detail: expect.not.stringMatching(/\d{10}/),
      });
    }
    expect(await cluster.keys.exists('lock:doc:ten')).toBe(0);
    expect(await client(1).get('ten')).toMatchObject({
      state: 'ready',
      fence: winner!.body['fence'],
      replica: winner!.headers.get('x-served-by'),
    });
  });

  it('show the progress of a run at whichever replica is asked, and refuse changes meanwhile', async () => {
    await client(0).put('watched', 'A text to watch.');
    const streams = await Promise.all([
      cluster.replicas[1]!.fetch('/documents/watched/events'),
      cluster.replicas[2]!.fetch('/documents/watched/events'),
    ]);
    expect(streams[0].headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(streams[0].headers.get('x-served-by')).toBe('replica-2');
    const run = client(0).process('watched');
    await isState('watched', 'processing', 2);
    expect(await client(1).put('watched', 'Another text.')).toMatchObject({ status: 423 });
    const deletion = await client(2).send('/documents/watched', { method: 'DELETE' });
    expect(deletion).toMatchObject({ status: 423, body: { code: 'lock_busy' } });

    for (const stream of streams) {
      const events = await readUntil(
        stream,
        ({ data }) => (data as DocumentBody).state === 'ready',
      );
      const views = events.map(({ data }) => data as DocumentBody);
      const states = views.map(({ state }) => state);
      expect(states).toEqual(states.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)));
      expect(states).toContain('processing');
      expect(views.some(({ progress }) => progress !== null)).toBe(true);
    }
    expect(await run).toMatchObject({ status: 200 });
  });

  it('answer before the work is done when asked to', async () => {
    await client(0).put('async', 'A text for later.');
    const accepted = await client(0).start('async');
    expect(accepted).toMatchObject({ status: 202, body: { status: 'accepted', id: 'async' } });
    expect(accepted.headers.get('location')).toBe('/documents/async');
    expect(accepted.headers.get('preference-applied')).toBe('respond-async');
    await isState('async', 'processing', 1);
    expect(await client(1).start('async')).toMatchObject({ status: 423 });
    expect(await client(2).process('async')).toMatchObject({ status: 423 });
    await isState('async', 'ready', 2);
    expect(await client(1).start('nobody')).toMatchObject({ status: 404 });
    expect(await cluster.keys.exists('lock:doc:nobody', '{lock:doc:nobody}:fence')).toBe(0);
  });

  it('finish work whose client has gone away, and hold the lock for exactly that long', async () => {
    await client(0).put('gone', 'A text whose reader leaves.');
    const leave = new AbortController();
    const request = client(0).process('gone', { signal: leave.signal });
    await isState('gone', 'processing', 1);
    leave.abort();
    await expect(request).rejects.toThrow('aborted');
    expect(await client(1).process('gone')).toMatchObject({ status: 423 });
    await isState('gone', 'ready', 1);
    await eventually(async () => (await cluster.keys.exists('lock:doc:gone')) === 0);
    expect(await client(1).process('gone')).toMatchObject({
      status: 200,
      body: { unchanged: true },
    });
  });

  it('take over from one that was killed, once its lease has run out', async () => {
    await client(1).put('orphan', 'A text whose worker dies.');
    const lost = client(0).process('orphan').catch(String);
    await isState('orphan', 'processing', 1);
    const before = await client(1).get('orphan');
    await cluster.replicas[0]!.kill('SIGKILL');
    expect(await lost).toMatch(/fetch failed|terminated/);
    const killedAt = performance.now();
    expect(await client(1).process('orphan')).toMatchObject({ status: 423 });
    await isState('orphan', 'interrupted', 1);
    expect(performance.now() - killedAt).toBeLessThan(ttlMs + 1_500);
    const taken = await client(1).process('orphan');
    expect(taken).toMatchObject({ status: 200, body: { unchanged: false, chunks: 1 } });
    expect(BigInt(String(taken.body['fence']))).toBeGreaterThan(BigInt(before.fence));
    expect(await client(2).passages('orphan', 'text')).toEqual(['A text whose worker dies.']);
  });

  it('answer what is under way at SIGTERM, end streams and background work, and leave nothing', async () => {
    const [, leaving] = cluster.replicas;
    await client(2).put('last', 'The last request.');
    await client(2).put('background', 'The last job.');
    const stream = await leaving!.fetch('/documents/last/events');
    const streamed = readUntil(stream, () => false);
    await client(1).start('background');
    const request = client(1).process('last');
    await isState('last', 'processing', 2);
    const exit = leaving!.kill('SIGTERM');
    await eventually(async () => (await leaving!.fetch('/health/ready')).status === 503);
    expect((await leaving!.fetch('/health/live')).status).toBe(200);
    const refused = await client(1).process('last');
    expect(refused).toMatchObject({ status: 503, body: { code: 'shutting_down' } });
    expect(refused.headers.get('connection')).toBe('close');
    expect(await request).toMatchObject({ status: 200, body: { id: 'last' } });
    const answeredAt = performance.now();
    expect((await streamed).length).toBeGreaterThan(0);
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - answeredAt).toBeLessThan(3_000);
    expect(await cluster.keys.exists('lock:doc:last', 'lock:doc:background')).toBe(0);
    expect(await client(2).get('background')).toMatchObject({ state: 'ready' });
    expect(await client(2).get('last')).toMatchObject({ state: 'ready' });
  });
});

const order = ['uploaded', 'processing', 'ready'];
