import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { LockManager, LockUnavailableError } from '../../../src/lock/index.js';
import { lockStoreContract } from '../../../src/lock/testing/store-contract.js';
import { type PostgresServer, startPostgres } from '../../support/postgres.js';
import { realTime } from '../../support/real-time.js';
import { PostgresLockStore } from './postgres-lock-store.js';

let server: PostgresServer;
let pool: Pool;
let store: PostgresLockStore;

beforeAll(async () => {
  server = await startPostgres();
  pool = new Pool({ connectionString: server.url });
  pool.on('error', () => 'a test ends the server on purpose');
  store = new PostgresLockStore(pool);
  await store.start();
}, 60_000);

afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

describe('the store of the page about stores of your own', () => {
  it.each(lockStoreContract)('keeps the contract: $promise', ({ verify }) =>
    verify({ store, elapse: realTime }),
  );

  it('is printed there, as it is', () => {
    const own = new URL('postgres-lock-store.ts', import.meta.url);
    const shown = readFileSync(own, 'utf8').replace('../../../src/lock/index.js', 'doclock');
    expect(readFileSync('docs/own-store.md', 'utf8')).toContain(shown);
  });

  it('keeps an engine going: waiters are served, leases renewed', async () => {
    const locks = new LockManager({ store });
    const lease = await locks.acquire('doc:1', { ttlMs: 900 });
    const waiting = locks.acquire('doc:1', { waitMs: 20_000 });
    await realTime(1_200); // longer than the TTL: only a renewal keeps it
    lease.assertHeld();
    expect(await lease.release()).toBe('released');
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
    await locks.close();
  });

  it('says that it is unavailable when it is', async () => {
    await server.halt();
    await expect(store.tryAcquire('doc:1', 'token', 1_000)).rejects.toThrow(LockUnavailableError);
    await server.start();
  });
});
