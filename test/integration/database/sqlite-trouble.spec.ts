import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kysely, sql } from 'kysely';
import { Database, withoutNul } from '../../../src/database/index.js';
import { LibsqlDialect } from '../../../src/database/sqlite/libsql.dialect.js';
import { LibsqlFile } from '../../../src/database/sqlite/libsql-file.js';

const unavailable = { code: 'database_unavailable' };

interface Notes {
  notes: { id: number | bigint; body: string };
}

describe('SQLite in trouble', () => {
  let dataDir: string;
  let path: string;
  const opened: { destroy(): Promise<void> }[] = [];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'doclock-trouble-'));
    path = join(dataDir, 'notes.sqlite');
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((db) => db.destroy()));
    await rm(dataDir, { recursive: true, force: true });
  });

  async function open(limits: { deadlineMs?: number; connectionWaitMs?: number } = {}) {
    const db = new Kysely<Notes>({ dialect: new LibsqlDialect({ path, ...limits }) });
    opened.push(db);
    await sql`create table if not exists notes (id integer primary key, body text)`.execute(db);
    return db;
  }

  /** On the connection that writes. */
  const maxPages = (db: Kysely<Notes>, count: number) =>
    db
      .transaction()
      .execute((transaction) =>
        sql`pragma max_page_count = ${sql.lit(count)}`.execute(transaction),
      );

  const write = (db: Kysely<Notes>, body = 'text') =>
    db
      .insertInto('notes')
      .values({ id: Math.floor(Math.random() * 2 ** 50), body })
      .execute();

  it('full: the write is refused, nothing of its transaction stays, reads go on, and later writes too', async () => {
    const db = await open();
    await write(db, 'before');
    await maxPages(db, 20);
    const filling = db.transaction().execute(async (transaction) => {
      for (let i = 0; i < 100; i += 1) await write(transaction, 'x'.repeat(4_000));
    });
    await expect(filling).rejects.toMatchObject(unavailable);
    await expect(write(db, 'x'.repeat(200_000))).rejects.toMatchObject(unavailable);
    expect(await db.selectFrom('notes').select('body').execute()).toEqual([{ body: 'before' }]);
    await maxPages(db, 10_000);
    await write(db, 'after');
  });

  it('full inside a transaction that catches the error: the rest is not written either', async () => {
    const db = await open();
    await maxPages(db, 20);
    const stubborn = db.transaction().execute(async (transaction) => {
      await write(transaction, 'x'.repeat(200_000)).catch(() => 'never mind');
      await write(transaction, 'written outside of any transaction');
    });
    await expect(stubborn).rejects.toMatchObject(unavailable);
    expect(await db.selectFrom('notes').selectAll().execute()).toEqual([]);
  });

  it('locked by another process beyond the deadline: unavailable, without blocking the event loop', async () => {
    const db = await open({ deadlineMs: 700 });
    const other = LibsqlFile.open({ path });
    await other.begin('immediate');
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const startedAt = performance.now();
    await expect(write(db)).rejects.toMatchObject(unavailable);
    expect(performance.now() - startedAt).toBeGreaterThan(500);
    await expect(db.transaction().execute(() => Promise.resolve())).rejects.toMatchObject(
      unavailable,
    );
    delay.disable();
    expect(delay.percentile(90) / 1e6).toBeLessThan(250);
    expect(await db.selectFrom('notes').selectAll().execute()).toEqual([]); // readers do not wait
    await other.rollback();
    other.close();
    await write(db);
  });

  it('locked by another process: readers answer at once, while writers wait for it', async () => {
    const db = await open({ deadlineMs: 60_000 });
    await write(db, 'before');
    const other = LibsqlFile.open({ path });
    await other.begin('immediate');
    const order: string[] = [];
    const writes = [1, 2, 3].map((n) => write(db, 'later').then(() => order.push(`write ${n}`)));
    const inTransaction = db
      .transaction()
      .execute((transaction) => write(transaction, 'later'))
      .then(() => order.push('transaction'));
    for (let n = 1; n <= 20; n += 1) {
      expect(await db.selectFrom('notes').select('body').execute()).toEqual([{ body: 'before' }]);
      order.push('read');
    }
    expect(order).toEqual(Array.from({ length: 20 }, () => 'read'));
    await other.rollback();
    other.close();
    await Promise.all([...writes, inTransaction]);
    expect(await db.selectFrom('notes').selectAll().execute()).toHaveLength(5);
  });

  it('readers see what the same process has just written, and nothing of a transaction that is open', async () => {
    const db = await open();
    for (let n = 1; n <= 50; n += 1) {
      await write(db);
      expect(await db.selectFrom('notes').select('id').execute()).toHaveLength(n);
    }
    await db.transaction().execute(async (transaction) => {
      await write(transaction);
      expect(await transaction.selectFrom('notes').select('id').execute()).toHaveLength(51);
      expect(await db.selectFrom('notes').select('id').execute()).toHaveLength(50);
    });
  });

  it('a transaction that could not begin leaves the way free for the next', async () => {
    const db = await open({ deadlineMs: 50 });
    const other = LibsqlFile.open({ path });
    await other.begin('immediate');
    for (let n = 0; n < 3; n += 1) {
      await expect(db.transaction().execute(() => write(db))).rejects.toMatchObject(unavailable);
    }
    await other.rollback();
    other.close();
    await db.transaction().execute((transaction) => write(transaction));
  });

  it('locked for a while: the write waits and succeeds, also after earlier refusals', async () => {
    const db = await open({ deadlineMs: 300 });
    const other = LibsqlFile.open({ path });
    await other.begin('immediate');
    await expect(write(db)).rejects.toMatchObject(unavailable);
    const waiting = write(db, 'patient');
    await other.write('insert into notes (id, body) values (1, ?)', ['first']);
    await other.execute('commit');
    await waiting;
    await other.write('update notes set body = ? where id = 1', ['again']);
    expect(await db.selectFrom('notes').select('body').orderBy('body').execute()).toEqual([
      { body: 'again' },
      { body: 'patient' },
    ]);
    other.close();
  });

  it('a query that waits for its own transaction is told so instead of waiting for ever', async () => {
    const db = await open({ connectionWaitMs: 200 });
    const tangled = db.transaction().execute(async () => {
      await write(db);
    });
    await expect(tangled).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('transaction'),
    });
    await write(db);
  });

  it('closed: later queries fail, and do not end the process', async () => {
    const db = await open();
    await db.destroy();
    await expect(write(db)).rejects.toThrow(/destroyed/);
  });

  it('closed below the dialect: every use fails, and none aborts the process', async () => {
    const file = LibsqlFile.open({ path });
    file.close();
    file.close();
    expect(file.inTransaction).toBe(false);
    await expect(file.read('select 1', [])).rejects.toMatchObject(unavailable);
    await expect(file.write('create table t (id integer)', [])).rejects.toMatchObject(unavailable);
    await expect(file.begin('immediate')).rejects.toMatchObject(unavailable);
    await file.rollback();
  });

  it('refuses bad values inside a transaction without breaking it', async () => {
    const db = await open();
    await db.transaction().execute(async (transaction) => {
      await expect(write(transaction, 'a\0b')).rejects.toMatchObject({ code: 'database_value' });
      await write(transaction, withoutNul('a\0b'));
    });
    expect(await db.selectFrom('notes').select('body').execute()).toEqual([{ body: 'ab' }]);
  });

  it('a file that is no database, or a folder that cannot be made, refuses the start with its path', async () => {
    await writeFile(join(dataDir, 'doclock.sqlite'), 'no database '.repeat(1_000));
    await expect(Database.open({ dataDir })).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('doclock.sqlite'),
    });
    await expect(Database.open({ dataDir: '/dev/null/data' })).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('/dev/null/data'),
    });
  });
});
