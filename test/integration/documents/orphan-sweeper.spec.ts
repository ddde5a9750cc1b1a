import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/database/index.js';
import { ChromaVectorStore } from '../../../src/documents/adapters/chroma/chroma-vector-store.js';
import { SqlVectorStore } from '../../../src/documents/adapters/sql-vector-store.js';
import { DocumentPointers } from '../../../src/documents/document-pointers.js';
import { type VectorStore } from '../../../src/documents/ports/vector-store.js';
import { LockService } from '../../../src/lock/index.js';
import { Upkeep } from '../../../src/upkeep/index.js';
import { startApp, type TestApp } from '../../support/app.js';
import { ChromaServer } from '../../support/chroma.js';
import { seedConversations } from '../../support/conversations.js';
import { DocumentsClient } from '../../support/documents-client.js';
import { worldAround } from './vector-store.world.js';
import { type VectorStoreWorld } from './vector-store.contract.js';

const calm = new AbortController().signal;
const passages = (count: number) =>
  Array.from({ length: count }, (_, seq) => ({
    seq,
    page: null,
    text: `Secret ${seq}.`,
    embedding: Float32Array.from([1, 0, 0]),
  }));

describe.each(['chroma', 'sql'] as const)('the sweep in the background, with %s', (kind) => {
  let chroma: ChromaServer | undefined;
  let dataDir: string;
  let app: TestApp;
  let database: Database;
  let store: VectorStore;
  let world: VectorStoreWorld;
  let client: DocumentsClient;

  beforeAll(async () => {
    if (kind === 'chroma') chroma = await ChromaServer.start();
    dataDir = await mkdtemp(join(tmpdir(), 'sweep-'));
    database = await Database.open({ dataDir });
    store = chroma
      ? new ChromaVectorStore(new DocumentPointers(database), { url: chroma.url })
      : new SqlVectorStore(database);
    world = worldAround(database, store);
    app = await startApp({
      DATA_DIR: dataDir,
      EMBED_WORKERS: '1',
      LOCK_STORE: 'memory',
      ...(chroma && { CHROMA_URL: chroma.url }),
    });
    client = new DocumentsClient({ fetch: (path, init) => fetch(app.url + path, init) });
  }, 60_000);

  afterAll(async () => {
    await app?.close();
    await database?.close();
    await chroma?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** As fences are, and below those of the locks that the service takes meanwhile. */
  let fence: bigint;
  beforeEach(() => {
    fence = BigInt(Date.now() - 60_000) * 1_000n;
  });

  /** A document with three published passages, under `fence`. */
  async function published(id: string): Promise<void> {
    await world.put(id, fence);
    await world.begin(id, fence);
    await store.write(id, fence, passages(3), calm);
    await world.publish(id, fence);
  }

  /** What the background finds once the marks have stood for long enough. */
  async function later(): Promise<number | null> {
    await database.kysely
      .updateTable('documents')
      .set({ sweep_at: 1n })
      .where('sweep_at', 'is not', null)
      .execute();
    return app.app.get(Upkeep).run('passages');
  }

  const marked = () =>
    database.kysely
      .selectFrom('documents')
      .select('id')
      .where('sweep_at', 'is not', null)
      .execute();

  it('leaves the published passages alone, and looks at a document once', async () => {
    await published('kept');
    expect(await later()).toBe(0);
    expect(await marked()).toEqual([]);
    expect(await store.count('kept', fence)).toBe(3);
  });

  it('waits until what was on its way must have arrived', async () => {
    await published('young');
    await world.begin('young', fence + 1n);
    await world.begin('young', fence + 2n);
    expect(await app.app.get(Upkeep).run('passages')).toBe(0);
    expect(await marked()).toEqual([{ id: 'young' }]);
    expect(await later()).toBe(0);
  });

  it('removes what a failed run and a run that died have written', async () => {
    await published('twice');
    await world.begin('twice', fence + 1n);
    await store.write('twice', fence + 1n, passages(2), calm); // and its process dies here
    expect(await later()).toBe(2);
    expect(await store.count('twice', fence + 1n)).toBe(0);
    expect(await store.count('twice', fence)).toBe(3);
    const counts = app.app.get(Upkeep).counts();
    expect(counts.find(({ name }) => name === 'passages')).toMatchObject({ failures: 0 });
    expect(counts.find(({ name }) => name === 'passages')?.removed).toBeGreaterThanOrEqual(2);
  });

  it('never touches what a run under way writes, and looks again when it is over', async () => {
    await published('busy');
    const locks = app.app.get(LockService);
    const lease = await locks.acquire('doc:busy', { waitMs: 0 });
    await world.begin('busy', lease.fence);
    await store.write('busy', lease.fence, passages(5), calm);
    expect(await later()).toBe(0);
    expect(await store.count('busy', lease.fence)).toBe(5);
    expect(await marked()).toEqual([{ id: 'busy' }]);
    await world.publish('busy', lease.fence);
    await lease.release();
    expect(await later()).toBe(3); // of the first generation
    expect(await store.count('busy', lease.fence)).toBe(5);
  });

  it('is done by one replica at a time', async () => {
    const lease = await app.app.get(LockService).acquire('upkeep:passages', { waitMs: 0 });
    expect(await later()).toBeNull();
    await lease.release();
    expect(await later()).toBe(0);
  });

  it('takes the conversations about a document along when it is deleted', async () => {
    await published('quoted');
    await seedConversations(database, 1_200, 1, 'quoted');
    const [other] = await seedConversations(database, 1, 1, 'another');
    expect((await client.send('/documents/quoted', { method: 'DELETE' })).status).toBe(204);
    const left = await database.kysely.selectFrom('conversations').select('id').execute();
    expect(left).toEqual([{ id: other }]);
  });

  if (kind === 'sql') return;

  const generations = async (id: string) => {
    const found: unknown[] = [];
    for (const collection of await chroma!.client.listCollections()) {
      const { documents } = await collection.get({ where: { document: id } });
      found.push(...documents);
    }
    return found.length;
  };

  it('removes what was deleted while ChromaDB was away, when it is back', async () => {
    await published('away');
    await chroma!.kill();
    expect((await client.send('/documents/away', { method: 'DELETE' })).status).toBe(204);
    expect(await later()).toBe(0); // away still: told in the log, and tried again
    const failed = app.app
      .get(Upkeep)
      .counts()
      .find(({ name }) => name === 'passages');
    expect(failed?.failures).toBe(1);
    await chroma!.restart();
    expect(await generations('away')).toBe(3);
    expect(await later()).toBe(3);
    expect(await generations('away')).toBe(0);
  });

  it('removes the batch that arrived after the sweep of a deletion', async () => {
    await published('late');
    await client.send('/documents/late', { method: 'DELETE' });
    expect(await generations('late')).toBe(0);
    const [collection] = await chroma!.client.listCollections();
    await collection!.upsert({
      ids: ['late:1:0'],
      embeddings: [[1, 0, 0]],
      documents: ['Late.'],
      metadatas: [{ document: 'late', generation: Number(fence), seq: 0 }],
    });
    expect(await later()).toBe(1);
    expect(await generations('late')).toBe(0);
  });
});
