import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { resolveConfig } from '../../../src/config/index.js';
import { type Database, StaleFenceError } from '../../../src/database/index.js';
import { SqlVectorStore } from '../../../src/documents/adapters/sql-vector-store.js';
import { type Stage } from '../../../src/documents/document-record.js';
import {
  DocumentRunsRepository,
  type StageProgress,
} from '../../../src/documents/document-runs.repository.js';
import { ContentsRepository } from '../../../src/documents/contents/contents.repository.js';
import { DocumentsRepository } from '../../../src/documents/documents.repository.js';
import { Extractor } from '../../../src/documents/pipeline/extract/index.js';
import { Pipeline } from '../../../src/documents/pipeline/run/pipeline.js';
import { Sweeper } from '../../../src/documents/pipeline/run/sweeper.js';
import { type Embedder, EmbeddingError } from '../../../src/documents/ports/embedder.js';
import { type Lease, LockLostError } from '../../../src/lock/index.js';
import { onBothDatabases } from '../../support/databases.js';
import { staged } from '../../support/staged.js';

/** A lease that nobody ever ends: its holder never learns that a newer one is at work. Only fences help. */
function deafLease(fence: bigint): Lease {
  return {
    name: 'doc:1',
    fence,
    fenceOf: () => fence,
    storeTimeMs: 0,
    ttlMs: 30_000,
    signal: new AbortController().signal,
    remainingMs: 30_000,
    shared: new SharedArrayBuffer(16),
    assertHeld: () => {},
    extend: () => Promise.resolve(true),
    release: () => Promise.resolve('released'),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Vectors by the text's length: cheap, and enough where nothing is compared. */
class LengthEmbedder implements Embedder {
  readonly model = 'length';
  readonly dimensions = 2;
  failure: Error | undefined;

  embed(texts: readonly string[]): Promise<Float32Array[]> {
    if (this.failure) return Promise.reject(this.failure);
    return Promise.resolve(
      texts.map(({ length }) => new Float32Array([Math.cos(length), Math.sin(length)])),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Stops one run after it has entered a stage, until the test lets it go on. */
class GatedRuns extends DocumentRunsRepository {
  private gate:
    { fence: bigint; stage: Stage; reached: () => void; open: Promise<void> } | undefined;

  hold(fence: bigint, stage: Stage): { reached: Promise<void>; letGo: () => void } {
    let letGo = () => {};
    const open = new Promise<void>((resolve) => (letGo = resolve));
    const reached = new Promise<void>((resolve) => {
      this.gate = { fence, stage, reached: resolve, open };
    });
    return { reached, letGo };
  }

  override async progress(id: string, fence: bigint, state: StageProgress): Promise<void> {
    await super.progress(id, fence, state);
    if (this.gate?.fence !== fence || this.gate.stage !== state.stage) return;
    this.gate.reached();
    await this.gate.open;
  }
}

onBothDatabases('the pipeline', (fixture) => {
  let database: Database;
  let documents: DocumentsRepository;
  let runs: GatedRuns;
  let vectors: SqlVectorStore;
  let embedder: LengthEmbedder;
  let extractor: Extractor;
  let pipeline: Pipeline;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    database = await fixture.open();
    documents = new DocumentsRepository(database, new ContentsRepository(database));
    runs = new GatedRuns(database);
    vectors = new SqlVectorStore(database);
    embedder = new LengthEmbedder();
    extractor = new Extractor();
    const config = resolveConfig({ CHUNK_SIZE: '50', CHUNK_OVERLAP: '0', INSTANCE_ID: 'me' });
    const sweeper = new Sweeper(vectors);
    pipeline = new Pipeline(config, documents, runs, extractor, embedder, vectors, sweeper);
  });

  afterEach(() => extractor.close());

  const put = (fence: bigint, text: string) =>
    documents.put('1', fence, {
      title: 't',
      mediaType: 'text/plain',
      content: staged(Buffer.from(text)),
    });
  const run = async (fence: bigint) => {
    const lease = deafLease(fence);
    return pipeline.run(await pipeline.begin('1', lease), lease);
  };
  const texts = async () => {
    const generation = (await documents.find('1'))?.generation;
    if (generation === null || generation === undefined) return [];
    const hits = await vectors.search('1', generation, new Float32Array([1, 0]), 50);
    return hits.map(({ text }) => text).sort();
  };
  const generations = async () => {
    const rows = await database.kysely
      .selectFrom('passages')
      .select('generation')
      .distinct()
      .execute();
    return rows.map(({ generation }) => generation);
  };

  describe.each<Stage>(['extract', 'chunk', 'embed', 'store', 'publish'])(
    'a worker that stops in the stage %s',
    (stage) => {
      it('is taken over, and whatever it still writes when it wakes up is refused', async () => {
        await put(1n, 'The first version, with more than one passage.\n\nIt is the longer one.');
        const gate = runs.hold(2n, stage);
        const zombie = run(2n).then(
          () => 'published',
          (error: unknown) => error,
        );
        await gate.reached;
        expect(await documents.find('1')).toMatchObject({ state: 'processing', stage, fence: 2n });
        expect(await texts()).toEqual([]);

        await put(3n, 'The second version.');
        const { document, hasChanged } = await run(4n);
        expect(hasChanged).toBe(true);
        gate.letGo();
        expect(await zombie).toBeInstanceOf(StaleFenceError);

        expect(await documents.find('1')).toEqual(document);
        expect(document).toMatchObject({ state: 'ready', fence: 4n, generation: 4n, chunks: 1 });
        expect(await texts()).toEqual(['The second version.']);
        expect(await generations()).toEqual([4n]);
      });
    },
  );

  it('keeps what is published while the next version is made and when that fails', async () => {
    await put(1n, 'The first version.');
    await run(2n);
    const other = resolveConfig({ CHUNK_SIZE: '60', CHUNK_OVERLAP: '0' });
    const again = new Pipeline(
      other,
      documents,
      runs,
      extractor,
      embedder,
      vectors,
      new Sweeper(vectors),
    );
    embedder.failure = new EmbeddingError('out of memory');
    const lease = deafLease(3n);
    const begun = await again.begin('1', lease);
    await expect(again.run(begun, lease)).rejects.toThrow('out of memory');
    expect(await documents.find('1')).toMatchObject({
      state: 'failed',
      stage: 'embed',
      errorCode: 'embedding_failed',
      generation: 2n,
    });
    expect(await texts()).toEqual(['The first version.']);
    embedder.failure = undefined;
    expect(await run(4n)).toMatchObject({ hasChanged: false, document: { state: 'ready' } });
  });

  it('says that a document takes longer than a lock may be held, and leaves one alone that is worked on anew', async () => {
    await put(1n, 'A text that takes too long.');
    embedder.failure = new LockLostError('doc:1', 'MAX_HOLD');
    await expect(run(2n)).rejects.toBe(embedder.failure);
    expect(await documents.find('1')).toMatchObject({
      state: 'failed',
      stage: 'embed',
      errorCode: 'lease_lost',
      errorMessage: expect.stringContaining('LOCK_MAX_HOLD_MS'),
    });
    const gate = runs.hold(3n, 'embed');
    const late = run(3n).catch((error: unknown) => error);
    await gate.reached;
    await pipeline.begin('1', deafLease(4n));
    gate.letGo();
    expect(await late).toBeInstanceOf(Error);
    expect(await documents.find('1')).toMatchObject({ state: 'processing', fence: 4n });
  });

  it('gives up a document whose runs have all died, without beginning another one', async () => {
    await put(1n, 'A text that kills its workers.');
    const lease = deafLease(2n);
    const abandoned = pipeline.abandon(await pipeline.begin('1', lease), lease, 3);
    await expect(abandoned).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await documents.find('1')).toMatchObject({
      state: 'failed',
      errorCode: 'lease_lost',
      errorMessage: expect.stringContaining('3 times in a row'),
    });
  });

  it('does nothing again for the same text, and everything for other settings', async () => {
    await put(1n, 'One version.');
    expect(await run(2n)).toMatchObject({ hasChanged: true, document: { generation: 2n } });
    expect(await run(3n)).toMatchObject({
      hasChanged: false,
      document: { generation: 2n, fence: 3n, state: 'ready', chunks: 1 },
    });
  });
});
