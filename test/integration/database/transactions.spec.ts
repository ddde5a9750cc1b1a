import { afterEach, describe, expect, it } from '@jest/globals';
import { type Database } from '../../../src/database/index.js';
import { Child } from '../../support/child.js';
import { onBothDatabases, onDatabase } from '../../support/databases.js';

const blank = {
  title: '',
  media_type: 'text/plain',
  size_bytes: 0,
  sha256: '',
  state: 'uploaded',
  fence: 0,
  deleted: 0,
  created_at: 0,
  updated_at: 0,
};

async function insertCounter(database: Database): Promise<void> {
  await database.kysely
    .insertInto('documents')
    .values({ ...blank, id: 'counter', chunks: 0 })
    .execute();
}

async function count(database: Database): Promise<bigint | null> {
  const row = await database.kysely
    .selectFrom('documents')
    .select('chunks')
    .where('id', '=', 'counter')
    .executeTakeFirstOrThrow();
  return row.chunks;
}

function setTitle(database: Database, title: string) {
  return database.kysely
    .updateTable('documents')
    .set({ title })
    .where('id', '=', 'other')
    .execute();
}

onBothDatabases('transactions', (fixture) => {
  /** Reads, and writes what it has read plus one: loses updates unless the two are one step. */
  function increment(database: Database): Promise<void> {
    return database.transaction(async (transaction) => {
      const row = await transaction
        .selectFrom('documents')
        .select('chunks')
        .where('id', '=', 'counter')
        .$if(fixture.dialect === 'postgres', (query) => query.forUpdate())
        .executeTakeFirstOrThrow();
      await transaction
        .updateTable('documents')
        .set({ chunks: (row.chunks ?? 0n) + 1n })
        .where('id', '=', 'counter')
        .execute();
    });
  }

  it('at the same time lose no update', async () => {
    const database = await fixture.open();
    await insertCounter(database);
    await Promise.all(Array.from({ length: 40 }, () => increment(database)));
    expect(await count(database)).toBe(40n);
  });

  it('of several connections lose no update', async () => {
    const options = await fixture.createOptions();
    const databases = [await fixture.open(options), await fixture.open(options)];
    await Promise.all(databases.slice(0, 1).map(insertCounter));
    await Promise.all(databases.map((database) => database.ping())); // both open, so that they meet
    await Promise.all(
      Array.from({ length: 20 }, () => databases.map((database) => increment(database))).flat(),
    );
    expect(await Promise.all(databases.map(count))).toEqual([40n, 40n]);
  });

  it('keep the queries of others out: neither undone with them nor visible to them', async () => {
    const database = await fixture.open();
    await insertCounter(database);
    await database.kysely
      .insertInto('documents')
      .values({ ...blank, id: 'other' })
      .execute();
    const outside: Promise<unknown>[] = [];
    const seen: Promise<bigint | null>[] = [];
    const failed = database.transaction(async (transaction) => {
      await transaction
        .updateTable('documents')
        .set({ chunks: 1_000 })
        .where('id', '=', 'counter')
        .execute();
      outside.push(setTitle(database, 'written by another'));
      seen.push(count(database));
      await transaction.selectFrom('documents').select('id').execute();
      throw new Error('changed my mind');
    });
    await expect(failed).rejects.toThrow('changed my mind');
    await Promise.all(outside);
    expect(await Promise.all(seen)).toEqual([0n]);
    expect(await count(database)).toBe(0n);
    const other = await database.kysely
      .selectFrom('documents')
      .select('title')
      .where('id', '=', 'other')
      .executeTakeFirstOrThrow();
    expect(other.title).toBe('written by another');
  });

  it('go on after one of them failed in its SQL', async () => {
    const database = await fixture.open();
    await insertCounter(database);
    await expect(
      database.transaction(async (transaction) => {
        await transaction.updateTable('documents').set({ chunks: 5 }).execute();
        await transaction
          .insertInto('documents')
          .values({ ...blank, id: 'counter' })
          .execute();
      }),
    ).rejects.toThrow(/unique|UNIQUE/);
    expect(await count(database)).toBe(0n);
    await increment(database);
    expect(await count(database)).toBe(1n);
  });
});

describe('SQLite transactions of several processes', () => {
  const children: Child[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
  });

  onDatabase('sqlite', (fixture) => {
    it('lose no update and never fail as busy', async () => {
      const options = await fixture.createOptions();
      const database = await fixture.open(options);
      await insertCounter(database);
      for (let i = 0; i < 3; i += 1) {
        children.push(Child.start('increment.mjs', { options, times: 100 }));
      }
      await Promise.all(children.map((child) => child.says('ready')));
      for (const child of children) child.tell('go');
      await Promise.all(children.map((child) => child.says('done')));
      expect(await count(database)).toBe(300n);
    });
  });
});
