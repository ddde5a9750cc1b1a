import { beforeEach, describe, expect, it } from '@jest/globals';
import { resolveConfig } from '../../../src/config/index.js';
import { type Database, type DatabaseOptions } from '../../../src/database/index.js';
import { DocumentQueue } from '../../../src/documents/document-queue.js';
import { DocumentRunsRepository } from '../../../src/documents/document-runs.repository.js';
import { ContentsRepository } from '../../../src/documents/contents/contents.repository.js';
import { DocumentsRepository } from '../../../src/documents/documents.repository.js';
import { onBothDatabases } from '../../support/databases.js';
import { staged } from '../../support/staged.js';

const nothing = async () => {};

onBothDatabases('the queue of documents', (fixture) => {
  let options: DatabaseOptions;
  let database: Database;
  let queue: DocumentQueue;
  let other: DocumentQueue;

  const queueOf = (opened: Database, settings: Record<string, string> = {}) =>
    new DocumentQueue(opened, resolveConfig({ LOCK_TTL_MS: '3000', ...settings }));

  beforeEach(async () => {
    options = await fixture.createOptions();
    database = await fixture.open(options);
    queue = queueOf(database);
    other = queueOf(await fixture.open(options));
  });

  /** As if the process of that queue had been dead for as long as a claim lasts. */
  const expire = async () => {
    await database.kysely
      .updateTable('document_queue')
      .set((is) => ({ held_until: is('held_until', '-', BigInt(queue.claimMs)) }))
      .execute();
  };
  const queued = async () => (await rows()).map(({ document_id: id }) => id).sort();
  const rows = () => database.kysely.selectFrom('document_queue').selectAll().execute();
  const claimed = async (by: DocumentQueue) => (await by.claim())?.id ?? null;

  it('gives documents out in the order they came in, each to one process', async () => {
    for (const id of ['c', 'a', 'b']) await queue.accept(id, nothing);
    expect(await queue.load()).toEqual({ waiting: 3, underWay: 0 });
    expect([await claimed(other), await claimed(queue), await claimed(other)]).toEqual([
      'c',
      'a',
      'b',
    ]);
    expect(await claimed(queue)).toBeNull();
    expect(await queue.load()).toEqual({ waiting: 0, underWay: 3 });
  });

  it('never gives a document to two that ask at the same moment', async () => {
    for (let i = 0; i < 20; i += 1) await queue.accept(`d${i}`, nothing);
    const asked = Array.from({ length: 30 }, (_, i) => claimed(i % 2 === 0 ? queue : other));
    const given = (await Promise.all(asked)).filter((id) => id !== null);
    const rest: string[] = [];
    // A process that looked at a row in the moment another one took it comes again.
    for (let id = await claimed(queue); id !== null; id = await claimed(queue)) rest.push(id);
    expect(new Set([...given, ...rest]).size).toBe(20);
    expect([...given, ...rest]).toHaveLength(20);
  });

  it('gives what a dead process had to the next one, before all others, and counts the attempts', async () => {
    await queue.accept('a', nothing);
    await queue.accept('b', nothing);
    expect(await queue.claim()).toEqual({ id: 'a', attempts: 1 });
    await expire();
    expect(await other.claim()).toEqual({ id: 'a', attempts: 2 });
  });

  it('keeps what is renewed, and only that', async () => {
    await queue.accept('a', nothing);
    await queue.claim();
    await other.renew(['a']);
    await queue.renew(['b']);
    await expire();
    await queue.renew(['a']);
    expect(await claimed(other)).toBeNull();
  });

  it('shows where a document stands, and how many come before it', async () => {
    for (const id of ['a', 'b', 'c']) await queue.accept(id, nothing);
    await queue.claim();
    const places = {
      a: { position: 1, ahead: 0, isWaiting: false },
      b: { position: 1, ahead: 1, isWaiting: true },
      c: { position: 2, ahead: 2, isWaiting: true },
    };
    for (const [id, place] of Object.entries(places)) expect(await queue.place(id)).toEqual(place);
    const all = ['a', 'b', 'c', 'nobody'];
    expect(Object.fromEntries(await queue.places(all))).toEqual(places);
    await expire(); // its worker is dead: it waits again
    expect(await queue.place('a')).toEqual({ position: 1, ahead: 0, isWaiting: true });
    expect((await queue.places(all)).get('b')).toEqual({ position: 2, ahead: 1, isWaiting: true });
    expect(await queue.place('nobody')).toBeNull();
  });

  it('lets a document that is accepted again keep its place', async () => {
    await queue.accept('a', nothing);
    await queue.accept('b', nothing);
    await other.accept('a', nothing);
    expect(await rows()).toHaveLength(2);
    expect(await claimed(queue)).toBe('a');
    await other.accept('a', nothing);
    expect(await claimed(other)).toBe('b');
    expect(await queue.place('a')).toMatchObject({ isWaiting: false });
  });

  it('does nothing for an order whose transaction fails', async () => {
    const fail = () => Promise.reject(new Error('no record'));
    await expect(queue.accept('a', fail)).rejects.toThrow('no record');
    expect(await rows()).toEqual([]);
  });

  it('gives a document whose caller waits to that process only, until it is dead', async () => {
    expect(await queue.wait('a')).toBe(true);
    expect(await other.wait('a')).toBe(false);
    await other.accept('b', nothing);
    expect(await claimed(other)).toBe('b');
    expect(await claimed(other)).toBeNull();
    expect(await claimed(queue)).toBe('a');
    await queue.giveBack('a', { afterMs: 0, isAttempt: true });
    expect(await queue.place('a')).toBeNull(); // nobody was promised anything
    await queue.wait('c');
    await expire();
    expect([await claimed(other), await claimed(other)]).toEqual(['b', 'c']);
  });

  it('takes a document out whose caller has waited in vain, unless it is under way or accepted', async () => {
    for (const id of ['a', 'b', 'c']) await queue.wait(id);
    expect(await claimed(queue)).toBe('a');
    await other.accept('b', nothing);
    for (const id of ['a', 'b', 'c']) await queue.withdraw(id);
    expect(await queued()).toEqual(['a', 'b']);
    expect(await claimed(other)).toBe('b'); // it is anybody's now
    await queue.wait('d');
    await queue.withdrawAll();
    expect(await queued()).toEqual(['a', 'b']);
  });

  it('puts a document back to its old place, after a pause, with or without a count', async () => {
    await queue.accept('a', nothing);
    await queue.accept('b', nothing);
    await queue.claim();
    await queue.giveBack('a', { afterMs: 0, isAttempt: false });
    expect(await other.claim()).toEqual({ id: 'a', attempts: 1 });
    await other.giveBack('a', { afterMs: 0, isAttempt: true });
    expect(await other.claim()).toEqual({ id: 'a', attempts: 2 });
    await queue.giveBack('a', { afterMs: 0, isAttempt: true }); // it is not that one's any more
    expect(await queue.place('a')).toMatchObject({ isWaiting: false });
    await other.giveBack('a', { afterMs: 60_000, isAttempt: true });
    expect(await claimed(queue)).toBe('b');
    expect(await claimed(queue)).toBeNull();
    expect(await queue.place('a')).toMatchObject({ isWaiting: true });
  });

  it('takes no more documents than its limit, and knows those that it has', async () => {
    const small = queueOf(database, { QUEUE_LIMIT: '2' });
    await small.accept('a', nothing);
    expect(await small.wait('b')).toBe(true);
    await expect(small.accept('c', nothing)).rejects.toMatchObject({ code: 'queue_full' });
    await expect(small.wait('c')).rejects.toMatchObject({ code: 'queue_full' });
    await small.accept('a', nothing);
    expect(await small.wait('a')).toBe(false);
    await small.remove('a');
    await small.accept('c', nothing);
    expect(await queued()).toEqual(['b', 'c']);
  });

  it('frees everything for a process that is alone', async () => {
    await other.accept('a', nothing);
    await other.wait('b');
    await other.claim();
    await queue.freeAll();
    expect(await queue.claim()).toEqual({ id: 'a', attempts: 2 });
    expect(await claimed(queue)).toBeNull();
  });

  describe('loses a document', () => {
    let documents: DocumentsRepository;
    let runs: DocumentRunsRepository;
    const made = { pages: 1, chunks: 1, processedHash: 'h', embeddingModel: 'm' };

    beforeEach(async () => {
      documents = new DocumentsRepository(database, new ContentsRepository(database));
      runs = new DocumentRunsRepository(database);
      const bytes = Buffer.from('t');
      await documents.put('a', 10n, {
        title: 'T',
        mediaType: 'text/plain',
        content: staged(bytes),
      });
      await queue.accept('a', nothing);
      await runs.begin('a', 11n, 'r');
    });

    it.each<[string, () => Promise<unknown>]>([
      ['is published', () => runs.publish('a', 11n, made)],
      ['has failed', () => runs.fail('a', 11n, { code: 'c', message: 'm' })],
      ['is deleted', () => documents.delete('a', 12n)],
    ])('in the very transaction in which it %s', async (_, end) => {
      expect(await queue.place('a')).not.toBeNull();
      await end();
      expect(await queue.place('a')).toBeNull();
    });

    it('when nothing new was found in it', async () => {
      await runs.publish('a', 11n, made);
      await queue.accept('a', nothing);
      await runs.keep('a', 12n, 'm');
      expect(await queue.place('a')).toBeNull();
    });

    it('never by a run that is stale', async () => {
      await runs.begin('a', 12n, 'newer');
      await expect(runs.publish('a', 11n, made)).rejects.toMatchObject({ code: 'lease_lost' });
      expect(await queue.place('a')).not.toBeNull();
    });
  });
});
