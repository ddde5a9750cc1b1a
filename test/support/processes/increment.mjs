// Says "ready", waits for a line, and adds 1 to the row "counter" in `times` transactions of read and write.
import { once } from 'node:events';

const { options, times } = JSON.parse(process.argv[2]);
const { Database } = await import(new URL('../../../dist/database/index.js', import.meta.url).href);
const database = await Database.open(options);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
for (let i = 0; i < times; i += 1) {
  await database.transaction(async (transaction) => {
    const row = await transaction
      .selectFrom('documents')
      .select('chunks')
      .where('id', '=', 'counter')
      .executeTakeFirstOrThrow();
    await transaction
      .updateTable('documents')
      .set({ chunks: row.chunks + 1n })
      .where('id', '=', 'counter')
      .execute();
  });
}
await database.close();
process.stdout.write('done\n');
process.exit(0);
