import { beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, highestFence } from '../../../src/database/index.js';
import { FENCED_TABLES } from '../../../src/database/highest-fence.js';
import { onBothDatabases } from '../../support/databases.js';

onBothDatabases('the highest fence', (fixture) => {
  let database: Database;

  beforeEach(async () => {
    database = await fixture.open();
  });

  /** A row with this fence in each table that is looked at. */
  async function write(table: (typeof FENCED_TABLES)[number], fence: bigint): Promise<void> {
    const { kysely } = database;
    switch (table) {
      case 'documents': {
        const content = { title: 'a', media_type: 'text/plain', size_bytes: 1, sha256: 'a' };
        const times = { created_at: 1, updated_at: 1 };
        const row = { id: `${fence}`, fence, state: 'uploaded', deleted: 1, ...content, ...times };
        await kysely.insertInto(table).values(row).execute();
        return;
      }
      case 'writer_fences':
        await kysely
          .insertInto(table)
          .values({ name: `${fence}`, fence })
          .execute();
        return;
      case 'tick_marks':
        await kysely
          .insertInto(table)
          .values({ job: `${fence}`, fence })
          .execute();
        return;
      case 'idempotency_records': {
        const row = { id: `${fence}`, fence, fingerprint: 'a', expires_at: 1 };
        await kysely.insertInto(table).values(row).execute();
      }
    }
  }

  it('is 0 in a database without any', async () => {
    expect(await highestFence(database)).toBe(0n);
  });

  it.each(FENCED_TABLES)('is found in %s, a tombstone’s too, with every digit', async (table) => {
    for (const other of FENCED_TABLES) await write(other, 7n);
    const highest = 2n ** 53n + 1n;
    await write(table, highest);
    await write(table, highest - 2n);
    expect(await highestFence(database)).toBe(highest);
  });

  it('is looked for in every table that has one, but for those under another table’s fence', async () => {
    const { rows } = await (
      fixture.dialect === 'sqlite'
        ? sql<{ name: string }>`
            select m.name from sqlite_master as m join pragma_table_info(m.name) as c
            where m.type = 'table' and c.name = 'fence'`
        : sql<{ name: string }>`
            select table_name as name from information_schema.columns
            where table_schema = 'public' and column_name = 'fence'`
    ).execute(database.kysely);
    // An archive is written under its writer's fence; a tick is a record.
    const others = ['archives', 'ticks'];
    expect(rows.map(({ name }) => name).sort()).toEqual([...FENCED_TABLES, ...others].sort());
  });
});
