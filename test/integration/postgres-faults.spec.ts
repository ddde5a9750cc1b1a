import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { LockManager, PostgresLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import {
  endOf,
  expectHeldAndRelease,
  firstVerdict,
  untilRenewed,
} from '../support/lease-checks.js';
import { type PostgresServer, startPostgres } from '../support/postgres.js';

let server: PostgresServer;
let proxy: FaultProxy;
let admin: Pool;
const closing: (() => Promise<void>)[] = [];

const urlOf = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`;

function manager(port: number, queryTimeoutMs = 1_500): LockManager {
  const store = new PostgresLockStore({ url: urlOf(port), queryTimeoutMs });
  const locks = new LockManager({ store });
  closing.push(() => locks.close());
  return locks;
}

beforeAll(async () => {
  server = await startPostgres();
  proxy = await FaultProxy.start({ port: server.port });
  admin = new Pool({ connectionString: server.url });
  admin.on('error', () => undefined);
}, 60_000);

afterEach(async () => {
  await proxy.pass();
  for (const close of closing.splice(0)) await close();
});

afterAll(async () => {
  await admin.end();
  await proxy.close();
  await server.stop();
});

const tokenOf = async (name: string) =>
  (await admin.query('select token from doclock.locks where name = $1', [name])).rows[0]?.token;

describe('PostgreSQL behind a network that fails', () => {
  it('that loses the reply to a grant never locks its own sender out', async () => {
    const locks = manager(proxy.port);
    await (await locks.acquire('doc:lost')).release();
    const lost = proxy.dropNextReplyThenCut();
    const waiting = locks.acquire('doc:lost', { waitMs: 20_000, ttlMs: 20_000 });
    await lost;
    const lease = await waiting;
    await expectHeldAndRelease(locks, lease);
  });

  it('that says nothing makes one try unavailable in time, and keeps no lock that nobody holds', async () => {
    const locks = manager(proxy.port);
    await (await locks.acquire('doc:silent')).release();
    proxy.dropReplies();
    await expect(locks.acquire('doc:silent', { ttlMs: 3_000 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    await proxy.pass();
    await eventually(async () => (await tokenOf('doc:silent')) === null, { timeoutMs: 20_000 });
    expect(await firstVerdict(locks, 'doc:silent')).toBe('granted');
  });

  it('that cuts the connection for messages costs a waiter no safety timer', async () => {
    const [holders, waiters] = [manager(server.port), manager(proxy.port)];
    const lease = await holders.acquire('doc:hint', { ttlMs: 20_000 });
    const waiting = waiters.acquire('doc:hint', { waitMs: 20_000 });
    const listeners = async () =>
      (
        await admin.query<{ pid: number }>(
          `select pid from pg_stat_activity where query like 'listen doclock%' order by pid`,
        )
      ).rows.map(({ pid }) => pid);
    await eventually(async () => (await holders.inspect('doc:hint'))?.queued === 1);
    const before = await eventually(async () => {
      const pids = await listeners();
      return pids.length === 2 && pids;
    });
    proxy.resetConnections();
    await eventually(async () => {
      const pids = await listeners();
      return pids.length === 2 && pids.some((pid) => !before.includes(pid));
    });
    await lease.release();
    await (await waiting).release();
  });
});

describe('a PostgreSQL server', () => {
  it('that restarts has kept the lock, and the lease goes on', async () => {
    const locks = manager(server.port);
    const lease = await locks.acquire('doc:kept', { ttlMs: 20_000 });
    const end = endOf(lease);
    await server.halt();
    await expect(locks.acquire('doc:other')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await server.start();
    expect(await firstVerdict(manager(server.port), 'doc:kept')).toBe('busy');
    await untilRenewed(lease, end);
    await expectHeldAndRelease(locks, lease);
  }, 60_000);

  it('that has become read-only is unavailable, never busy or not held, and is left for a new connection', async () => {
    const locks = manager(server.port);
    const lease = await locks.acquire('doc:standby', { ttlMs: 20_000 });
    const store = new PostgresLockStore({ url: server.url });
    closing.push(() => store.close());
    await store.tryAcquire('doc:mine', 'a.b.c', 20_000);
    const readOnly = (on: string) =>
      admin.query(`alter database postgres set default_transaction_read_only = ${on}`);
    await readOnly('on');
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()
        and backend_type = 'client backend'`,
    );
    try {
      const unavailable = { code: 'LOCK_UNAVAILABLE' };
      await eventually(async () => {
        const outcome = await store.tryAcquire('doc:standby', 'd.e.f', 1_000).catch(String);
        return /read-only/.test(JSON.stringify(outcome));
      });
      await expect(store.release('doc:mine', 'x.y.z')).rejects.toMatchObject(unavailable);
      await expect(store.leave('doc:mine', 'process')).rejects.toMatchObject(unavailable);
      await expect(store.revoke('doc:mine', 'a.b.c', 'b')).rejects.toMatchObject(unavailable);
      const renewal = { name: 'doc:mine', token: 'x.y.z', ttlMs: 1_000 };
      expect(await store.renew([renewal])).toEqual(['unknown']);
    } finally {
      const rescue = new Pool({
        connectionString: server.url,
        options: '-c default_transaction_read_only=off',
      });
      await rescue.query('alter database postgres reset default_transaction_read_only');
      await rescue.end();
    }
    // No connection from before that is kept would be let write.
    await eventually(async () =>
      store.release('doc:mine', 'a.b.c').then(
        (reply) => reply === 'released',
        () => false,
      ),
    );
    await expectHeldAndRelease(locks, lease);
  }, 60_000);
});
