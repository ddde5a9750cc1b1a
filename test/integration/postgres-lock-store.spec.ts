import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { LockManager, LockOptionsError, PostgresLockStore } from '../../src/lock/index.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import {
  expectServedInTurn,
  expectTakeoverOfPaused,
  expectToldOfRevocation,
} from '../support/coordinator-cases.js';
import { eventually } from '../support/eventually.js';
import { type PostgresServer, startPostgres } from '../support/postgres.js';
import { realTime } from '../support/real-time.js';

const HOUR_US = 3_600_000_000;

let server: PostgresServer;
let admin: Pool;
let store: PostgresLockStore;
let locks: LockManager;
let others: LockManager[];

beforeAll(async () => {
  server = await startPostgres();
  admin = new Pool({ connectionString: server.url });
  admin.on('error', () => undefined); // the server ends before it
  store = new PostgresLockStore({ url: server.url });
  locks = new LockManager({ store });
  others = [1, 2, 3].map(
    () => new LockManager({ store: new PostgresLockStore({ url: server.url }) }),
  );
  for (const each of [locks, ...others]) await each.start();
}, 60_000);

afterAll(async () => {
  await Promise.all([locks, ...others].map((each) => each.close()));
  await admin.end();
  await server.stop();
});

describe('PostgresLockStore keeps the contract', () => {
  it.each(lockStoreContract)('$promise', ({ verify }) => verify({ store, elapse: realTime }));
});

describe('processes with locks in one PostgreSQL database', () => {
  it('are served in the order in which they came', () => expectServedInTurn(locks, others));

  it('tell the holder of a revocation before its next renewal', () =>
    expectToldOfRevocation(locks, others[0] as LockManager));

  it('are told which lease was revoked, so that a late message ends no other', async () => {
    const messages: (string | undefined)[][] = [];
    const stop = store.onWake('holder', (...message) => messages.push(message));
    await eventually(() => messages.length === 1); // it is subscribed
    await store.tryAcquire('doc:named', 'a.holder.x', 30_000);
    expect(await store.revoke('doc:named', 'a.holder.x', 'holder')).toBe(true);
    await eventually(() => messages.length === 2);
    expect(messages[1]).toEqual(['doc:named', 'revoked', 'a.holder.x']);
    await store.release('doc:named', 'a.holder.x');
    stop();
  });

  it('take a lock over from one that is stopped beyond its TTL, with a higher fence', () =>
    expectTakeoverOfPaused(
      locks,
      { store: 'PostgresLockStore', options: { url: server.url } },
      /EXPIRED|NOT_OWNER/,
    ));

  it('never lose an update of an unprotected counter', async () => {
    let counter = 0;
    const increment = async () => {
      const seen = counter;
      await realTime(1);
      counter = seen + 1;
    };
    const work = Array.from({ length: 60 }, (_, index) =>
      (others[index % 3] as LockManager).run('doc:counter', { waitMs: 60_000 }, increment),
    );
    await Promise.all(work);
    expect(counter).toBe(60);
  });
});

describe('the rows of the lock store', () => {
  const rowOf = async (name: string) =>
    (await admin.query('select * from doclock.locks where name = $1', [name])).rows[0];
  const setRow = (name: string, set: string) =>
    admin.query(`update doclock.locks set ${set} where name = $1`, [name]);

  beforeEach(() => admin.query('truncate doclock.locks, doclock.queue'));

  it('mint a fence above the last one when the clock of the server is behind', async () => {
    await (await locks.acquire('doc:1')).release();
    await setRow('doc:1', `fence = fence + ${HOUR_US}`);
    const ahead = BigInt((await rowOf('doc:1')).fence);
    const lease = await locks.acquire('doc:1');
    expect(lease.fence).toBe(ahead + 1n);
    await lease.release();
  });

  it('keep a free lock for a dead head no longer than a reservation after the clock was set back', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 20_000 });
    const dead = { process: 'dead', ticket: undefined };
    await store.tryAcquire('doc:1', 'dead.dead.', 1_000, dead);
    await lease.release(); // reserves it for the dead process
    await setRow('doc:1', `reserved_until_us = reserved_until_us + ${HOUR_US}`);
    await admin.query(`update doclock.queue set seen_us = seen_us + ${HOUR_US}`);
    await (await locks.acquire('doc:1', { waitMs: 5_000 })).release();
  });

  it('are removed a day after their last fence, two with each new name, and never while they are held', async () => {
    const held = await locks.acquire('doc:held');
    for (const name of ['doc:1', 'doc:2', 'doc:3']) await (await locks.acquire(name)).release();
    await admin.query(`update doclock.locks set fence = fence - 25 * ${HOUR_US}::bigint`);
    for (const name of ['doc:4', 'doc:5']) await (await locks.acquire(name)).release();
    const { rows } = await admin.query('select name from doclock.locks order by name');
    expect(rows.map(({ name }) => name)).toEqual(['doc:4', 'doc:5', 'doc:held']);
    await held.release();
  });

  it('leave no place in the queue behind when a waiter gives up', async () => {
    const lease = await locks.acquire('doc:1');
    const other = others[0] as LockManager;
    await expect(other.acquire('doc:1', { waitMs: 200 })).rejects.toMatchObject({
      code: 'LOCK_WAIT_TIMEOUT',
    });
    await eventually(async () => (await rowOf('doc:1')).queued === 0);
    expect((await admin.query('select * from doclock.queue')).rows).toEqual([]);
    await lease.release();
  });
});

describe('the tables of the lock store', () => {
  it('are made by one of several replicas that start at once', async () => {
    const url = await server.createDatabase();
    const engines = [1, 2, 3, 4].map(
      () => new LockManager({ store: new PostgresLockStore({ url }) }),
    );
    let counter = 0;
    const work = async () => {
      counter += 1;
    };
    await Promise.all(engines.map((each) => each.run('doc:1', { waitMs: 60_000 }, work)));
    expect(counter).toBe(4);
    await Promise.all(engines.map((each) => each.close()));
  });

  it('are found where an administrator has made them, by a user who may make none', async () => {
    const url = new URL(await server.createDatabase());
    const owner = new LockManager({ store: new PostgresLockStore({ url: url.href }) });
    await (await owner.acquire('doc:1')).release();
    await owner.close();
    const database = new Pool({ connectionString: url.href });
    await database.query(`create role worker login;
      grant usage on schema doclock to worker;
      grant select, insert, update, delete on all tables in schema doclock to worker`);
    url.username = 'worker';
    const worker = new LockManager({ store: new PostgresLockStore({ url: url.href }) });
    await (await worker.acquire('doc:1')).release();
    await worker.close();

    await database.query('drop schema doclock cascade');
    const refused = new LockManager({ store: new PostgresLockStore({ url: url.href }) });
    await expect(refused.acquire('doc:1')).rejects.toThrow(
      /may not make its tables in the schema "doclock".*create schema doclock authorization/,
    );
    await refused.close();
    await database.end();
  });

  it('of different schemas share nothing', async () => {
    const apart = new LockManager({
      store: new PostgresLockStore({ url: server.url, schema: 'elsewhere' }),
    });
    const lease = await locks.acquire('doc:apart');
    await (await apart.acquire('doc:apart')).release();
    await lease.release();
    await apart.close();
  });
});

describe('the options of the lock store', () => {
  it.each([
    ['nothing', {}, /neither a url nor a pool/],
    ['two', { url: 'postgres://localhost/a', pool: new Pool() }, /both a url and a pool/],
    ['a url of another server', { url: 'redis://localhost' }, /not one of PostgreSQL/],
    ['a pool that is none', { pool: {} as Pool }, /not a pg Pool/],
    [
      'a schema that SQL would fold',
      { url: 'postgres://localhost/a', schema: 'A b' },
      /plain name/,
    ],
  ])('refuse %s', (_what, options, message) => {
    expect(() => new PostgresLockStore(options)).toThrow(LockOptionsError);
    expect(() => new PostgresLockStore(options)).toThrow(message);
  });

  it('take the pool of an application, and leave it open', async () => {
    const pool = new Pool({ connectionString: server.url, max: 3 });
    const own = new LockManager({ store: new PostgresLockStore({ pool }) });
    const lease = await own.acquire('doc:pool');
    const next = own.acquire('doc:pool', { waitMs: 20_000 });
    await eventually(async () => (await own.inspect('doc:pool'))?.queued === 1);
    await lease.release();
    await (await next).release();
    await own.close();
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(pool.totalCount).toBeLessThanOrEqual(3);
    await pool.end();
  });

  it('are checked against what breaks locks quietly', async () => {
    // The server of the tests runs without fsync.
    expect(await store.check()).toEqual([expect.stringMatching(/before a commit is on its disk/)]);
  });
});
