import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EtcdLockStore, LockManager } from '../../src/lock/index.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { Child } from '../support/child.js';
import {
  expectServedInTurn,
  expectTakeoverOfPaused,
  expectToldOfRevocation,
} from '../support/coordinator-cases.js';
import { type EtcdCluster, startEtcd } from '../support/etcd.js';
import { ensureEtcd } from '../support/etcd-program.js';
import { eventually } from '../support/eventually.js';
import { realTime } from '../support/real-time.js';

let etcd: EtcdCluster;
let store: EtcdLockStore;
let locks: LockManager;

beforeAll(async () => {
  etcd = await startEtcd();
  store = new EtcdLockStore({ endpoints: etcd.endpoints });
  locks = new LockManager({ store });
  await locks.start();
}, 60_000);

afterAll(async () => {
  await locks.close();
  await etcd.stop();
});

/** Resolves when the server has ended all leases of that TTL: it looks for them now and then only. */
async function leasesOver(ttlMs: number): Promise<void> {
  await realTime(ttlMs);
  await eventually(async () => !(await etcd.leases()).includes(ttlMs), { everyMs: 100 });
}

/** What etcdctl tells of all keys that begin so, field by field. */
async function fields(prefix: string, field: string): Promise<string[]> {
  const text = await etcd.ctl('get', '--prefix', prefix, '-w', 'fields');
  return [...text.matchAll(new RegExp(`^"${field}" : "?([^"\\n]*)`, 'gm'))].map(
    ([, value = '']) => value,
  );
}

describe('EtcdLockStore keeps the contract', () => {
  it.each(lockStoreContract)('$promise', ({ verify }) =>
    verify({
      store,
      elapse: realTime,
      mortal: async (ttlMs) => ({ store, end: () => leasesOver(ttlMs) }),
    }),
  );
});

describe('its keys', () => {
  it('are one per lock, under a lease of its own, and the fence is the revision that created it', async () => {
    const lease = await locks.acquire('doc:key', { ttlMs: 20_500 });
    const [key = ''] = await fields('lock:doc:key/', 'Key');
    expect(key).toMatch(/^lock:doc:key\/[\w-]+\.[\w-]+\.[^/]+$/);
    expect(await fields('lock:doc:key/', 'CreateRevision')).toEqual([String(lease.fence)]);
    expect(await etcd.leases()).toContain(21_000); // whole seconds, never fewer than asked for
    await lease.release();
    expect(await fields('lock:doc:key/', 'Key')).toEqual([]);
    await eventually(async () => !(await etcd.leases()).includes(21_000));
  });

  it('leave no lease behind a try that finds the lock busy, or a waiter that gives up', async () => {
    const lease = await locks.acquire('doc:busy', { ttlMs: 20_000 });
    expect(await locks.tryAcquire('doc:busy', { ttlMs: 44_000 })).toBeNull();
    await expect(locks.acquire('doc:busy', { ttlMs: 44_000, waitMs: 300 })).rejects.toMatchObject({
      code: 'LOCK_WAIT_TIMEOUT',
    });
    await eventually(async () => !(await etcd.leases()).includes(44_000));
    await eventually(async () => (await fields('{lock:doc:busy}', 'Key')).length === 0);
    await lease.release();
  });

  it('exclude a foreign client of etcd’s own mutex recipe, and are excluded by it', async () => {
    const { ctl } = await ensureEtcd();
    const foreign = (name: string) =>
      spawn(ctl, [`--endpoints=${etcd.endpoints.join()}`, 'lock', `lock:${name}`], {
        env: { ...process.env, ETCDCTL_API: '3' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
    const holder = foreign('doc:1');
    await once(holder.stdout, 'data'); // it prints the key as soon as it holds
    expect(await locks.tryAcquire('doc:1')).toBeNull();
    expect(await locks.inspect('doc:1')).toMatchObject({ holder: null, heldForMs: undefined });
    const wish = locks.acquire('doc:1', { waitMs: 20_000 });
    holder.kill('SIGINT');
    const lease = await wish;

    const waiter = foreign('doc:1');
    const said = once(waiter.stdout, 'data');
    await eventually(async () => (await fields('lock:doc:1/', 'Key')).length === 2);
    lease.assertHeld();
    expect(await locks.inspect('doc:1')).toMatchObject({ fence: lease.fence });
    await lease.release();
    await said;
    expect(await locks.revoke('doc:1')).toBe('foreign');
    expect(await locks.revoke('doc:1', { force: true })).toBe('deleted');
    waiter.kill('SIGKILL');
  }, 60_000);
});

describe('a lease', () => {
  it('that is revoked from outside aborts its signal with the next renewal', async () => {
    const lease = await locks.acquire('doc:revoked', { ttlMs: 3_000 });
    const [id = ''] = await fields('lock:doc:revoked/', 'Lease');
    await etcd.ctl('lease', 'revoke', BigInt(id).toString(16));
    await eventually(() => lease.signal.aborted);
    expect(lease.signal.reason).toMatchObject({ reason: 'NOT_OWNER' });
    expect(await lease.release()).toBe('not-held');
  });

  it('whose key alone was deleted is found lost by its release', async () => {
    const work = locks.run('doc:deleted', { ttlMs: 20_000 }, () =>
      etcd.ctl('del', '--prefix', 'lock:doc:deleted/'),
    );
    await expect(work).rejects.toMatchObject({ code: 'LOCK_LOST', result: '1' });
  });

  it('ends about when it may, although a lease of etcd can be kept alive for its whole TTL only', async () => {
    const lease = await locks.acquire('doc:most', { ttlMs: 15_000, maxHoldMs: 15_000 });
    // A third of the TTL after the grant: ten seconds more, and no fifteen.
    await eventually(async () => !(await etcd.leases()).includes(15_000), { timeoutMs: 20_000 });
    lease.assertHeld();
    const state = await locks.inspect('doc:most');
    expect(state?.fence).toBe(lease.fence);
    expect(state?.heldForMs).toBeGreaterThan(4_000);
    expect(state?.remainingMs).toBeGreaterThan(lease.remainingMs);
    expect(state?.remainingMs).toBeLessThan(lease.remainingMs + 3_000);
    expect(await lease.release()).toBe('released');
    await eventually(async () =>
      (await etcd.leases()).every((ttlMs) => ttlMs > 15_000 || ttlMs < 5_000),
    );
  }, 60_000);

  it('is told of a revocation at once, on its own watch', async () => {
    await expectToldOfRevocation(locks, locks);
  });

  it('of a process that was paused for longer is over when it wakes, and another has a higher fence', async () => {
    const child = { store: 'EtcdLockStore', options: { endpoints: etcd.endpoints } };
    await expectTakeoverOfPaused(locks, child, /^lost EXPIRED$/);
  });

  it('shorter than etcd can count is refused before the cluster is asked', async () => {
    const refused = { code: 'LOCK_OPTIONS', message: expect.stringContaining('steps of 1000 ms') };
    await expect(locks.acquire('doc:short', { ttlMs: 999 })).rejects.toMatchObject(refused);
    const lease = await locks.acquire('doc:short');
    await expect(lease.extend(500)).rejects.toMatchObject(refused);
    await lease.release();
    expect(() => new LockManager({ store, defaults: { ttlMs: 500 } })).toThrow('steps of 1000 ms');
  });
});

describe('waiters', () => {
  it('of several processes are served in turn, woken by what they watch', async () => {
    const others = [1, 2, 3].map(
      () => new LockManager({ store: new EtcdLockStore({ endpoints: etcd.endpoints }) }),
    );
    await expectServedInTurn(locks, others);
    for (const other of others) await other.close();
    expect(await fields('{lock:doc:turn}', 'Key')).toEqual([]);
  });
});

describe('the client library', () => {
  it.each(['@grpc/grpc-js', '@grpc/proto-loader'])(
    'is named in the refusal to start where %s is not installed',
    async (missing) => {
      const options = { endpoints: etcd.endpoints };
      const argument = { store: 'EtcdLockStore', options, missing: [missing] };
      const child = Child.start('start-store-without.mjs', argument);
      expect(await child.says('refused')).toMatch(
        /^refused LOCK_OPTIONS: .*npm install @grpc\/grpc-js @grpc\/proto-loader/,
      );
      await child.exited;
    },
  );

  it('is not asked for by a start with it in place', async () => {
    const options = { endpoints: etcd.endpoints };
    const child = Child.start('start-store-without.mjs', {
      store: 'EtcdLockStore',
      options,
      missing: [],
    });
    expect(await child.says('')).toBe('started');
    await child.exited;
  });
});

describe('options', () => {
  it.each([
    [[], 'has no endpoints'],
    [['etcd-1'], 'Write http://host:port'],
    [['ftp://etcd-1:2379'], 'Write http://host:port'],
    [['http://user@etcd-1:2379'], 'Write http://host:port'],
  ])('refuse the endpoints %j', (endpoints, message) => {
    expect(() => new EtcdLockStore({ endpoints })).toThrow(message);
  });

  it('refuse a prefix that would mix locks up', () => {
    expect(() => new EtcdLockStore({ endpoints: ['a:1'], prefix: '{a}' })).toThrow(
      'The lock prefix',
    );
  });
});
