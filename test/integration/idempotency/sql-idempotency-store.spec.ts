import { describe, expect, it } from '@jest/globals';
import { SqlIdempotencyStore } from '../../../src/idempotency/index.js';
import { idempotencyStoreContract } from '../../../src/idempotency/testing/idempotency-store-contract.js';
import { onBothDatabases, onDatabase } from '../../support/databases.js';

const begin = { fingerprint: 'a', fence: 7n, nowMs: Date.now() };
const answer = { status: 200, headers: {}, body: '1' };
const finish = { fence: 7n, answer, ttlMs: 60_000, nowMs: Date.now() };

onBothDatabases('idempotency records', (databases) => {
  it('keep the contract', async () => {
    const store = new SqlIdempotencyStore(await databases.open());
    for (const { promise, verify } of idempotencyStoreContract) {
      await verify(store).catch((cause: unknown) => {
        throw new Error(`broken: ${promise}`, { cause });
      });
    }
  });

  it('outlive the process', async () => {
    const options = await databases.createOptions();
    await new SqlIdempotencyStore(await databases.open(options)).begin('one', begin);
    const later = new SqlIdempotencyStore(await databases.open(options));
    expect(await later.finish('one', finish)).toBe('kept');
  });

  it('are removed when they have expired, and not before', async () => {
    const database = await databases.open();
    const store = new SqlIdempotencyStore(database);
    await store.begin('lasting', begin);
    await store.begin('gone', begin);
    await store.finish('gone', { ...finish, ttlMs: 0 });
    expect(await store.sweep(Date.now())).toEqual({ removed: 1, more: false });
    const rows = await database.kysely.selectFrom('idempotency_records').select('id').execute();
    expect(rows).toEqual([{ id: 'lasting' }]);
  });

  it('are removed a thousand at once, the oldest first, until none is left that has expired', async () => {
    const database = await databases.open();
    const store = new SqlIdempotencyStore(database);
    const expired = Array.from({ length: 2_001 }, (_, index) => ({
      id: `expired-${index}`,
      fingerprint: 'a',
      fence: 1n,
      expires_at: BigInt(index),
    }));
    for (let start = 0; start < expired.length; start += 500) {
      await database.kysely
        .insertInto('idempotency_records')
        .values(expired.slice(start, start + 500))
        .execute();
    }
    await store.begin('lasting', begin);
    const swept = [];
    for (let more = true; more;) {
      const step = await store.sweep(Date.now());
      swept.push(step.removed);
      ({ more } = step);
    }
    expect(swept).toEqual([1_000, 1_000, 1]);
    expect(await store.find('lasting')).not.toBeNull();
  });

  it('are kept with the transaction of the work, or not at all', async () => {
    const database = await databases.open();
    const store = new SqlIdempotencyStore(database);
    await store.begin('one', begin);
    const undone = database.transaction(async (transaction) => {
      expect(await store.finishIn(transaction, 'one', finish)).toBe('kept');
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect((await store.find('one'))?.answer).toBeNull();
    await database.transaction((transaction) => store.finishIn(transaction, 'one', finish));
    expect((await store.find('one'))?.answer).toEqual(answer);
  });

  it('let whoever begins during that transaction wait for it and see what it kept', async () => {
    const options = await databases.createOptions();
    const [working, asking] = [await databases.open(options), await databases.open(options)];
    const store = new SqlIdempotencyStore(working);
    await store.begin('one', begin);
    const { reply } = await working.transaction(async (transaction) => {
      await store.finishIn(transaction, 'one', finish);
      // Begun, and not awaited: it can end only when this transaction has.
      return { reply: new SqlIdempotencyStore(asking).begin('one', { ...begin, fence: 8n }) };
    });
    expect(await reply).toMatchObject({ fence: 7n, answer });
  });
});

describe('idempotency records on postgres', () => {
  onDatabase('postgres', (databases) => {
    it('live by the clock of the server, whatever clock the replica has', async () => {
      const store = new SqlIdempotencyStore(await databases.open());
      const ahead = Date.now() + 365 * 86_400_000;
      const behind = Date.now() - 365 * 86_400_000;
      await store.begin('one', { ...begin, nowMs: behind });
      await store.finish('one', { ...finish, nowMs: behind });
      expect(await store.begin('one', { ...begin, fence: 8n, nowMs: ahead })).toMatchObject({
        answer,
      });
      expect(await store.sweep(ahead)).toEqual({ removed: 0, more: false });
      expect((await store.find('one'))?.answer).toEqual(answer);
    });
  });
});
