import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { Database, DatabaseModule } from '../../../src/database/index.js';
import { onBothDatabases } from '../../support/databases.js';

onBothDatabases('DatabaseModule', (fixture) => {
  it('gives a migrated database to every module, and closes it at the end', async () => {
    const options = await fixture.createOptions();
    const app = await Test.createTestingModule({
      imports: [DatabaseModule.forRootAsync({ useFactory: () => options })],
    }).compile();
    const database = app.get(Database);
    expect(database.dialect).toBe(fixture.dialect);
    await database.ping();
    expect(await database.kysely.selectFrom('documents').selectAll().execute()).toEqual([]);
    await app.close();
    await expect(database.ping()).rejects.toThrow(/destroyed/);
  });
});
