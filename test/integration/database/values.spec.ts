import { beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Database } from '../../../src/database/index.js';
import { onBothDatabases } from '../../support/databases.js';

onBothDatabases('values', (fixture) => {
  let database: Database;

  beforeEach(async () => {
    database = await fixture.open();
    const bytes = sql.raw(fixture.dialect === 'postgres' ? 'bytea' : 'blob');
    await sql`create table samples (id integer primary key, fence bigint, ratio double precision, name text, body ${bytes})`.execute(
      database.kysely,
    );
  });

  async function roundTrip(row: {
    fence?: unknown;
    ratio?: unknown;
    name?: unknown;
    body?: unknown;
  }) {
    const { rows } =
      await sql`insert into samples (id, fence, ratio, name, body) values (1, ${row.fence ?? null}, ${row.ratio ?? null}, ${row.name ?? null}, ${row.body ?? null}) returning *`.execute(
        database.kysely,
      );
    const read = await sql`select * from samples where id = ${1}`.execute(database.kysely);
    expect(read.rows).toEqual(rows);
    return read.rows[0];
  }

  it.each([1_764_430_000_123_456n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 0n])(
    'keeps every digit of the integer %s',
    async (fence) => {
      expect(await roundTrip({ fence })).toMatchObject({ fence, id: 1n });
    },
  );

  it('reads every integer as bigint, whatever its column or expression', async () => {
    await roundTrip({ fence: 5 });
    const { rows } =
      await sql`select id, fence, count(*) as count, max(fence) as highest from samples group by id, fence`.execute(
        database.kysely,
      );
    expect(rows).toEqual([{ id: 1n, fence: 5n, count: 1n, highest: 5n }]);
  });

  it('keeps fractions as numbers', async () => {
    expect(await roundTrip({ ratio: 0.1 })).toMatchObject({ ratio: 0.1 });
  });

  it.each(['', 'plain', 'é😀 汉字', 'quote \' " and \\ and \n'])(
    'keeps the text %j',
    async (name) => {
      expect(await roundTrip({ name })).toMatchObject({ name });
    },
  );

  it.each([
    ['no bytes', Buffer.alloc(0)],
    ['bytes with zeros', Buffer.from([0, 1, 0, 255])],
    ['a part of a larger array', new Uint8Array([1, 2, 3, 4]).subarray(1, 3)],
  ])('gives %s back as a Buffer', async (_, body) => {
    const row = await roundTrip({ body });
    expect(row).toMatchObject({ body: Buffer.from(body) });
  });

  it.each([
    ['text with NUL', 'a\0b'],
    ['a boolean', true],
    ['a date', new Date()],
    ['undefined', undefined],
  ])('refuses %s before anything is sent, and lives on', async (_, value) => {
    await expect(
      sql`insert into samples (id, name) values (1, ${value})`.execute(database.kysely),
    ).rejects.toMatchObject({ code: 'database_value' });
    await expect(
      sql`select count(*) as count from samples`.execute(database.kysely),
    ).resolves.toMatchObject({ rows: [{ count: 0n }] });
  });

  it('leaves the caller mistakes of SQL as they are', async () => {
    await roundTrip({});
    const again = sql`insert into samples (id) values (1)`.execute(database.kysely);
    await expect(again).rejects.not.toMatchObject({ code: 'database_unavailable' });
    await expect(sql`selec`.execute(database.kysely)).rejects.toThrow(/syntax/);
  });
});
