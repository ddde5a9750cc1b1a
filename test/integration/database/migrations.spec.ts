import { afterEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { migrate } from '../../../src/database/index.js';
import { migrations } from '../../../src/database/migrations/index.js';
import { Child } from '../../support/child.js';
import { onBothDatabases } from '../../support/databases.js';

const names = migrations.map(({ name }) => name);

onBothDatabases('migrations', (fixture) => {
  const children: Child[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
  });

  it('each run once when three processes start at the same moment', async () => {
    const options = await fixture.createOptions();
    for (let i = 0; i < 3; i += 1) children.push(Child.start('migrate.mjs', options));
    await Promise.all(children.map((child) => child.says('ready')));
    for (const child of children) child.tell('go');

    const said = await Promise.all(children.map((child) => child.says('ran')));
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0]);
    const ran = said.map((line) => JSON.parse(line.slice(4)) as unknown);
    expect(ran.flat()).toEqual(names);

    const database = await fixture.open(options);
    const { rows } = await sql`select name from schema_migrations order by name`.execute(
      database.kysely,
    );
    expect(rows).toEqual(names.map((name) => ({ name })));
  });

  it('are named in the order in which they run', () => {
    expect(names.toSorted((a, b) => a.localeCompare(b))).toEqual(names);
  });

  it('do nothing the second time', async () => {
    const options = await fixture.createOptions();
    expect(await migrate(options)).toEqual(names);
    expect(await migrate(options)).toEqual([]);
  });

  it('refuse a database that a newer version has migrated', async () => {
    const options = await fixture.createOptions();
    const database = await fixture.open(options);
    await sql`insert into schema_migrations (name, applied_at) values ('9999-future', 1)`.execute(
      database.kysely,
    );
    await expect(migrate(options)).rejects.toMatchObject({
      code: 'database_migration',
      message: expect.stringContaining('9999-future'),
    });
  });
});
