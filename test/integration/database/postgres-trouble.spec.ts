import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Database } from '../../../src/database/index.js';
import { TranslatingPool } from '../../../src/database/postgres/postgres-pool.js';
import { eventually } from '../../support/eventually.js';
import { FaultProxy } from '../../support/fault-proxy.js';
import { freePort } from '../../support/free-port.js';
import { onDatabase } from '../../support/databases.js';

const unavailable = { code: 'database_unavailable' };

describe('PostgreSQL in trouble', () => {
  onDatabase('postgres', (fixture) => {
    it('stopped: queries fail as unavailable, and work again after its return without a restart', async () => {
      const database = await fixture.open();
      await database.ping();
      await fixture.server().halt();
      await expect(database.ping()).rejects.toMatchObject(unavailable);
      await expect(
        database.transaction((transaction) =>
          transaction.selectFrom('documents').selectAll().execute(),
        ),
      ).rejects.toMatchObject(unavailable);
      await fixture.server().start();
      await eventually(() => database.ping().then(() => true), { what: 'the database to answer' });
    });

    it('cut in the middle of a transaction: unavailable, nothing written', async () => {
      const options = await fixture.createOptions();
      const database = await fixture.open(options);
      const cut = database.transaction(async (transaction) => {
        await sql`create table halfway (id bigint)`.execute(transaction);
        await sql`select pg_terminate_backend(pg_backend_pid())`.execute(transaction);
      });
      await expect(cut).rejects.toMatchObject(unavailable);
      await expect(sql`select * from halfway`.execute(database.kysely)).rejects.toMatchObject({
        code: '42P01',
      });
    });

    describe('behind a network that fails', () => {
      let proxy: FaultProxy;
      const opened: Kysely<unknown>[] = [];
      beforeAll(async () => {
        proxy = await FaultProxy.start({ port: fixture.server().port });
      });
      afterEach(async () => {
        await proxy.pass();
        await Promise.all(opened.splice(0).map((db) => db.destroy()));
      });
      afterAll(async () => {
        await proxy.close();
      });

      it('silent: a query ends by its time limit, and its connection serves nobody else', async () => {
        const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
        const pool = new TranslatingPool({ url, maxConnections: 1, queryTimeoutMs: 300 });
        const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
        opened.push(db);
        const first = await sql`select pg_backend_pid() as pid`.execute(db);
        proxy.blackHole();
        await expect(sql`select 1`.execute(db)).rejects.toMatchObject(unavailable);
        await proxy.pass();
        const second = await sql`select pg_backend_pid() as pid`.execute(db);
        expect(second.rows).not.toEqual(first.rows);
      });
    });
  });

  it('absent at the start: refused, without the password in the message', async () => {
    const url = `postgres://someone:secret-word@127.0.0.1:${await freePort()}/doclock`;
    const opening = Database.open({ dataDir: '/nowhere', url });
    await expect(opening).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringMatching(/127\.0\.0\.1:\d+\/doclock/),
    });
    await expect(opening).rejects.not.toMatchObject({
      message: expect.stringContaining('secret-word'),
    });
  });
});
