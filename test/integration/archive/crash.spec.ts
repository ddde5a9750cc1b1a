import { expect, it } from '@jest/globals';
import { Child } from '../../support/child.js';
import { conversationIds, seedConversations } from '../../support/conversations.js';
import { onBothDatabases } from '../../support/databases.js';
import { eventually } from '../../support/eventually.js';

/** Where the process is killed, and what it has archived by then. */
const steps: readonly (readonly [step: string, moved: 'nothing' | 'one batch' | 'everything'])[] = [
  ['before begin', 'nothing'],
  ['after begin', 'nothing'],
  ['before read', 'nothing'],
  ['after read', 'nothing'],
  ['before move', 'nothing'],
  ['before remove', 'nothing'], // from here …
  ['after remove', 'nothing'], // … to here inside the transaction
  ['after move', 'one batch'],
  ['before end', 'everything'],
  ['after end', 'everything'],
];

onBothDatabases('an archiver that is killed', (databases) => {
  // On PostgreSQL only where another server could behave otherwise.
  const here = steps.filter(
    ([step]) => databases.dialect === 'sqlite' || /remove|after move/.test(step),
  );

  it('at any of its steps has lost nothing and archived nothing twice, and is taken over', async () => {
    const options = await databases.createOptions();
    const database = await databases.open(options);
    const { dataDir, url } = options;
    const env = { DATA_DIR: dataDir, ...(url && { DATABASE_URL: url, LOCK_STORE: 'memory' }) };
    const ids: string[] = [];
    /** Every conversation is there once, in its table or in an archive. Gives how many are archived. */
    const everyOneOnce = async () => {
      const { live, archived } = await conversationIds(database);
      expect([...live, ...archived].toSorted()).toEqual(ids.toSorted());
      return archived.length;
    };
    let archived = 0;
    for (const [step, moved] of here) {
      ids.push(...(await seedConversations(database, 150, 40)));
      const dying = Child.start('archive.mjs', { env, stopAt: step });
      await dying.says(`at ${step}`);
      await dying.kill();
      if (moved === 'one batch') archived += 100;
      if (moved === 'everything') archived = ids.length;
      // A server may need a moment to undo what the dead connection had begun.
      const found = await eventually(async () => ({ archived: await everyOneOnce() }));
      expect({ step, ...found }).toEqual({ step, archived });
    }
    const heir = Child.start('archive.mjs', { env });
    await heir.says('done');
    expect(await heir.exited).toBe(0);
    expect(await everyOneOnce()).toBe(ids.length);
  }, 120_000);
});
