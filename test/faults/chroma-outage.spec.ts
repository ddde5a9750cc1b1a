import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChromaServer } from '../support/chroma.js';
import { type Cluster, startCluster } from '../support/cluster.js';
import { eventually } from '../support/eventually.js';

describe('a service with its vectors in ChromaDB', () => {
  let chroma: ChromaServer;
  let cluster: Cluster;

  beforeAll(async () => {
    chroma = await ChromaServer.start();
    cluster = await startCluster(2, {
      CHROMA_URL: chroma.url,
      CHUNK_SIZE: '60',
      CHUNK_OVERLAP: '0',
      LOCK_TTL_MS: '1500',
      LOCK_COMMAND_TIMEOUT_MS: '400',
      DEMO_STEP_DELAY_MS: '400',
    });
  });

  afterAll(async () => {
    await cluster?.stop();
    await chroma?.stop();
  });

  const client = () => cluster.clients[0]!;
  const paragraphs = (animal: string, count: number) =>
    Array.from({ length: count }, (_, i) => `Paragraph ${i} tells a story about a ${animal}.`).join(
      '\n\n',
    );
  /** The generations of a document that ChromaDB holds, with the number of their passages. */
  const stored = async (id: string) => {
    const collections = await chroma.client.listCollections();
    const generations: Record<string, number> = {};
    for (const collection of collections) {
      const { metadatas } = await collection.get({ where: { document: id } });
      for (const metadata of metadatas) {
        const generation = JSON.stringify(metadata?.['generation']);
        generations[generation] = (generations[generation] ?? 0) + 1;
      }
    }
    return generations;
  };

  it('publishes whole generations, and leaves nothing of a longer first version', async () => {
    await client().put('doc', paragraphs('whale', 6));
    const first = await client().process('doc');
    expect(first).toMatchObject({ status: 200, body: { chunks: 6, unchanged: false } });
    expect(await client().passages('doc', 'whale')).toHaveLength(6);
    expect(await client().process('doc')).toMatchObject({ body: { unchanged: true } });

    await client().put('doc', paragraphs('owl', 2));
    expect(await client().passages('doc', 'whale')).toEqual([]);
    const second = await cluster.clients[1]!.process('doc');
    expect(second).toMatchObject({ status: 200, body: { chunks: 2 } });
    const found = await client().passages('doc', 'whale');
    expect(found).toHaveLength(2);
    expect(found.join()).not.toContain('whale');
    expect(await stored('doc')).toEqual({ [String(second.body['fence'])]: 2 });
  });

  it('answers 503 while it is away, and processes the same document when it is back', async () => {
    await client().put('kept', paragraphs('cat', 2));
    await client().process('kept');
    await client().put('away', paragraphs('fox', 3));
    await chroma.kill();
    const refused = await client().process('away');
    expect(refused).toMatchObject({ status: 503, body: { code: 'vectors_unavailable' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(JSON.stringify(refused.body)).not.toContain(String(chroma.port));
    expect(await client().get('away')).toMatchObject({
      state: 'failed',
      error: { code: 'vectors_unavailable' },
    });
    expect(await client().send('/documents/kept/search?q=cat')).toMatchObject({
      status: 503,
      body: { code: 'vectors_unavailable' },
    });
    expect(await client().send('/health/ready')).toMatchObject({
      status: 503,
      body: { checks: { vectors: { status: 'down' }, database: { status: 'up' } } },
    });
    expect((await client().send('/health/live')).status).toBe(200);

    await chroma.restart();
    expect(await client().process('away')).toMatchObject({ status: 200, body: { chunks: 3 } });
    expect(await client().passages('away', 'fox')).toHaveLength(3);
    expect(await client().passages('kept', 'cat')).toHaveLength(2);
    await cluster.replicas[0]!.ready();
  });

  it('processes an unchanged document again when ChromaDB has lost its passages', async () => {
    await client().put('lost', paragraphs('bee', 2));
    await client().process('lost');
    await chroma.empty();
    expect(await client().passages('lost', 'bee')).toEqual([]);
    expect(await client().process('lost')).toMatchObject({ body: { unchanged: false } });
    expect(await client().passages('lost', 'bee')).toHaveLength(2);
  });

  it('shows nothing of a run that was killed between its write and its publication', async () => {
    await client().put('torn', paragraphs('crow', 4));
    expect((await client().start('torn')).status).toBe(202);
    await eventually(async () => (await client().get('torn')).progress?.stage === 'publish');
    await cluster.replicas[0]!.kill('SIGKILL');
    const [orphan] = Object.keys(await stored('torn'));
    expect(await stored('torn')).toEqual({ [String(orphan)]: 4 });

    const other = cluster.clients[1]!;
    expect(await other.passages('torn', 'crow')).toEqual([]);
    const again = await eventually(
      async () => {
        const document = await other.get('torn');
        return document.state === 'ready' && document;
      },
      { timeoutMs: 20_000, what: 'another replica to take it over' },
    );
    expect(again).toMatchObject({ chunks: 4, replica: 'replica-2' });
    expect(await other.passages('torn', 'crow')).toHaveLength(4);
    await eventually(async () => {
      expect(await stored('torn')).toEqual({ [again.fence]: 4 });
      return true;
    });
  });
});
