import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Cluster, startCluster } from '../support/cluster.js';
import { type Answer, DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { type PostgresServer, startPostgres } from '../support/postgres.js';
import { ServiceProcess } from '../support/service-process.js';

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly queue: { readonly position: number; readonly ahead: number } | null;
  readonly replica: string | null;
}

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

const shown = async (client: DocumentsClient, id: string) =>
  (await client.send<Shown>(`/documents/${id}`)).body;

const putAll = async (client: DocumentsClient, names: readonly string[]) => {
  for (const id of names) await client.put(id, `The text of ${id}.`);
};

/** Resolves when all of them are ready; rejects as soon as one can only be made so by another request. */
async function allReady(client: DocumentsClient, names: readonly string[]): Promise<Shown[]> {
  return eventually(
    async () => {
      const documents = await Promise.all(names.map((id) => shown(client, id)));
      const states = documents.map(({ state }) => state);
      const stuck = states.filter((state) => !['queued', 'processing', 'ready'].includes(state));
      if (stuck.length > 0) throw new Error(stuck.join());
      return states.every((state) => state === 'ready') && documents;
    },
    { timeoutMs: 60_000, everyMs: 100, what: 'all documents to be ready' },
  );
}

describe('a replica that is asked for more than it can do at once', () => {
  let service: ServiceProcess;
  let client: DocumentsClient;

  beforeAll(async () => {
    service = await ServiceProcess.start({
      EMBED_WORKERS: '1',
      PROCESS_CONCURRENCY: '1',
      QUEUE_LIMIT: '6',
      QUEUE_WAIT_MS: '3000',
      LOCK_MAX_HOLD_MS: '5000',
      DEMO_STEP_DELAY_MS: '150',
    });
    client = new DocumentsClient(service);
    await client.put('warm', 'A text that has the model loaded.');
    await client.processed('warm');
  }, 90_000);

  afterAll(() => service?.stop());

  it('works on one after the other in the order they came in, and shows where each stands', async () => {
    const names = ids('order', 4);
    await putAll(client, names);
    for (const id of names) expect((await client.start(id)).status).toBe(202);
    const last = await shown(client, 'order-3');
    expect(last.state).toBe('queued');
    expect(last.queue!.ahead).toBeGreaterThanOrEqual(last.queue!.position - 1);
    const list = await client.send<{ items: Shown[] }>('/documents?limit=200');
    const inList = list.body.items.find(({ id }) => id === 'order-3')!;
    expect(inList.state).toBe('queued');
    expect(inList.queue!.position).toBeLessThanOrEqual(last.queue!.position);
    const done = await allReady(client, names);
    const ends = (await Promise.all(done.map(({ id }) => client.get(id)))).map(
      ({ processedAt }) => processedAt,
    );
    expect(ends).toEqual(ends.toSorted((a, b) => Date.parse(a!) - Date.parse(b!)));
  }, 90_000);

  it('does not count the wait against LOCK_MAX_HOLD_MS', async () => {
    const names = ids('patient', 6); // a second each, the last one waits for longer than a lock may be held
    await putAll(client, names);
    for (const id of names) expect((await client.start(id)).status).toBe(202);
    await allReady(client, names);
  }, 90_000);

  it('lets a request wait for its turn, and says after QUEUE_WAIT_MS when it may come again', async () => {
    const names = ids('sync', 6);
    await putAll(client, names);
    const answers = await Promise.all(names.map((id) => client.process(id)));
    const [done, late] = [200, 503].map((code) => answers.filter(({ status }) => status === code));
    expect(done!.length).toBeGreaterThanOrEqual(2);
    expect(done!.length + late!.length).toBe(6);
    expect(late!.length).toBeGreaterThanOrEqual(1);
    for (const { body, headers } of late!) {
      expect(body).toMatchObject({ code: 'queue_wait_timeout' });
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    // Nothing was begun for those who were sent away.
    await eventually(async () => {
      const states = await Promise.all(names.map(async (id) => (await shown(client, id)).state));
      expect(states.filter((state) => state === 'ready')).toHaveLength(done!.length);
      expect(states.filter((state) => state === 'uploaded')).toHaveLength(late!.length);
      return true;
    });
  }, 90_000);

  it('answers 423 to who would wait for a document that is queued, and 202 again to who would not', async () => {
    const names = ids('twice', 3);
    await putAll(client, names);
    for (const id of names) await client.start(id);
    const second = await client.process('twice-2');
    expect(second).toMatchObject({ status: 423, body: { code: 'document_queued' } });
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const again = await client.start('twice-2');
    expect(again).toMatchObject({ status: 202, body: { status: 'accepted', id: 'twice-2' } });
    expect(again.headers.get('location')).toBe('/documents/twice-2');
    await allReady(client, names);
  }, 90_000);

  it('processes what a queued document holds when its turn comes, and forgets one that is deleted', async () => {
    const names = ids('changed', 3);
    await putAll(client, names);
    for (const id of names) await client.start(id);
    expect(await client.put('changed-2', 'Quite another text.')).toMatchObject({
      status: 200,
      body: { state: 'queued' },
    });
    const deleted = await client.send('/documents/changed-1', { method: 'DELETE' });
    expect(deleted.status).toBe(204);
    await allReady(client, ['changed-0', 'changed-2']);
    expect(await client.passages('changed-2', 'text')).toEqual(['Quite another text.']);
    expect(await client.send('/documents/changed-1')).toMatchObject({ status: 404 });
  }, 90_000);

  it('takes no more than QUEUE_LIMIT documents', async () => {
    const names = ids('full', 9);
    await putAll(client, names);
    const answers: Answer<Record<string, unknown>>[] = [];
    for (const id of names) answers.push(await client.start(id));
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThanOrEqual(1);
    for (const { status, body, headers } of refused) {
      expect(status).toBe(503);
      expect(body).toMatchObject({ code: 'queue_full' });
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    await allReady(
      client,
      answers.filter(({ status }) => status === 202).map(({ body }) => String(body['id'])),
    );
  }, 90_000);
});

describe.each(['sqlite', 'postgres'] as const)(
  'three replicas with one queue on %s',
  (database) => {
    let cluster: Cluster;
    let postgres: PostgresServer | undefined;

    beforeAll(async () => {
      if (database === 'postgres') postgres = await startPostgres();
      cluster = await startCluster(3, {
        LOCK_TTL_MS: '2000',
        DEMO_STEP_DELAY_MS: '100',
        PROCESS_CONCURRENCY: '1',
        SHUTDOWN_GRACE_MS: '200',
        ...(postgres && { DATABASE_URL: postgres.url }),
      });
    }, 120_000);

    afterAll(async () => {
      await cluster?.stop();
      await postgres?.stop();
    });

    const client = (index: number) => cluster.clients[index]!;

    it('share what one of them was asked for', async () => {
      const names = ids('shared', 9);
      await putAll(client(0), names);
      for (const id of names) expect((await client(0).start(id)).status).toBe(202);
      const documents = await allReady(client(1), names);
      expect(new Set(documents.map(({ replica }) => replica)).size).toBe(3);
    }, 120_000);

    it('lose nothing when one is killed in the middle, and a key that was answered 202 means what was done', async () => {
      const names = ids('kept', 8);
      await putAll(client(0), names);
      const order = (index: number, id: string) =>
        client(index).process(id, { headers: { prefer: 'respond-async', 'idempotency-key': id } });
      for (const id of names) expect((await order(0, id)).status).toBe(202);
      await eventually(async () => {
        const [first] = await Promise.all(names.map((id) => shown(client(1), id)));
        return first!.state === 'processing';
      });
      await cluster.replicas[0]!.kill('SIGKILL');
      await allReady(client(1), names);
      const again = await order(2, 'kept-7');
      expect(again).toMatchObject({ status: 202, body: { status: 'accepted', id: 'kept-7' } });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect((await shown(client(2), 'kept-7')).state).toBe('ready');
    }, 120_000);

    it('finish what a replica that leaves had begun and could not end', async () => {
      const names = ids('left', 6);
      await putAll(client(1), names);
      for (const id of names) await client(1).start(id);
      expect(await cluster.replicas[1]!.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      await allReady(client(2), names);
    }, 120_000);
  },
);

describe('one replica alone', () => {
  it('goes on at once with what it had accepted before it was killed', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'queue-'));
    // Claims of the dead would run out after that only.
    const env = { DATA_DIR: dataDir, LOCK_TTL_MS: '600000', PROCESS_CONCURRENCY: '1' };
    const first = await ServiceProcess.start({ ...env, DEMO_STEP_DELAY_MS: '300' });
    const names = ids('alone', 4);
    const before = new DocumentsClient(first);
    await putAll(before, names);
    for (const id of names) await before.start(id);
    await eventually(async () => (await shown(before, 'alone-0')).state === 'processing');
    await first.kill('SIGKILL');
    {
      await using next = await ServiceProcess.start(env);
      await allReady(new DocumentsClient(next), names);
    }
    await rm(dataDir, { recursive: true, force: true });
  }, 90_000);
});
