import { expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Migration, migrations } from '../../../src/database/migrations/index.js';
import { runMigrations } from '../../../src/database/run-migrations.js';
import { onBothDatabases } from '../../support/databases.js';

onBothDatabases('a failing migration', (fixture) => {
  it('leaves nothing behind, and runs once it is repaired', async () => {
    const database = await fixture.open();
    const kysely = database.kysely.withTables<{
      schema_migrations: { name: string; applied_at: bigint };
    }>();
    const before = migrations.map(({ name }): Migration => ({
      name,
      up: () => Promise.reject(new Error('must not run again')),
    }));
    const first: Migration = {
      name: '9998-first',
      up: async (db) => {
        await sql`create table first (id bigint)`.execute(db);
      },
    };
    const broken: Migration = {
      name: '9999-second',
      up: async (db) => {
        await sql`create table second (id bigint)`.execute(db);
        await sql`insert into nowhere values (1)`.execute(db);
      },
    };
    const repaired: Migration = {
      name: '9999-second',
      up: async (db) => {
        await sql`create table second (id bigint)`.execute(db);
      },
    };
    await expect(
      runMigrations(kysely, fixture.dialect, [...before, first, broken]),
    ).rejects.toMatchObject({
      code: 'database_migration',
      message: expect.stringContaining('9999-second'),
    });
    await expect(sql`select * from first`.execute(database.kysely)).rejects.toThrow(/first/);
    expect(await runMigrations(kysely, fixture.dialect, [...before, first, repaired])).toEqual([
      '9998-first',
      '9999-second',
    ]);
  });
});
