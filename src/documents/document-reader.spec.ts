import { beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { LockUnavailableError } from '../lock/index.js';
import { DocumentReader } from './document-reader.js';
import { type DocumentRecord } from './document-record.js';

const running: DocumentRecord = {
  id: 'a',
  title: 'a',
  mediaType: 'text/plain',
  sizeBytes: 1,
  sha256: '',
  state: 'processing',
  stage: 'embed',
  stageDone: 3,
  stageTotal: 9,
  pages: null,
  chunks: null,
  fence: 5n,
  generation: null,
  processedHash: null,
  embeddingModel: null,
  errorCode: null,
  errorMessage: null,
  createdAt: 0,
  updatedAt: 1_000,
  processedAt: null,
  replica: 'b',
};

/** What is read of one document whose row is, look by look, what the test says. */
async function reading(rows: (DocumentRecord | null)[], lock: { fence: bigint } | null | Error) {
  const documents = {
    findAll: async () => [rows.length > 1 ? rows.shift() : rows[0]].filter((row) => row !== null),
  };
  const locks = {
    inspect: async () => {
      if (lock instanceof Error) throw lock;
      return lock;
    },
  };
  const queue = { places: async () => new Map() };
  const reader = new DocumentReader(documents as never, queue as never, locks as never);
  return (await reader.readAll(['a'])).get('a') ?? null;
}

describe('the state that is shown of a document', () => {
  beforeAll(() => Logger.overrideLogger(false));

  it('is processing while the lock is held under the row’s fence', async () => {
    expect(await reading([running], { fence: 5n })).toMatchObject({
      state: 'processing',
      progress: { stage: 'embed', done: 3, total: 9 },
      fence: '5',
      updatedAt: '1970-01-01T00:00:01.000Z',
    });
  });

  it('is interrupted when the lock is free, or is somebody else’s', async () => {
    for (const lock of [null, { fence: 6n }]) {
      expect(await reading([running], lock)).toMatchObject({ state: 'interrupted' });
    }
  });

  it('is not interrupted when the run ended between the two looks', async () => {
    const ready: DocumentRecord = { ...running, state: 'ready', stage: null };
    expect(await reading([running, ready], null)).toMatchObject({ state: 'ready', progress: null });
    const next: DocumentRecord = { ...running, fence: 6n };
    expect(await reading([running, next], { fence: 6n })).toMatchObject({ state: 'processing' });
    expect(await reading([running, null], null)).toBeNull();
  });

  it('is what the row says when the lock store gives no answer', async () => {
    const trouble = new LockUnavailableError('doc:a', 'down');
    expect(await reading([running], trouble)).toMatchObject({ state: 'processing' });
    await expect(reading([running], new TypeError('a bug'))).rejects.toThrow('a bug');
  });
});
