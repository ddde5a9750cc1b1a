import { describe, expect, it } from '@jest/globals';
import { LockManager, type RedlockLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { freePort } from '../support/free-port.js';
import { realTime } from '../support/real-time.js';
import { MINUTE_MS, redlockNodes } from '../support/redlock.js';

const { servers, admins, ports, closers, open, openOnly, keysLeft } = redlockNodes();

describe('a split', () => {
  it('that is even, with a dead node, is decided at once, undone, and gone for waiters', async () => {
    const slow = await Promise.all(servers.map((server) => FaultProxy.start(server)));
    closers.push(() => Promise.all(slow.map((proxy) => proxy.close())));
    for (const proxy of slow) proxy.addLatency(50);
    const via = async (near: readonly number[]) => {
      const dead = await freePort();
      return open(
        ports().map((port, index) => {
          if (index === 2) return dead;
          return near.includes(index) ? port : (slow[index]?.port ?? 0);
        }),
      );
    };
    const [left, right] = [await via([0, 1]), await via([3, 4])];
    await eventually(async () => {
      const replies = await Promise.all([
        left.tryAcquire('doc:1', 'left', MINUTE_MS),
        right.tryAcquire('doc:1', 'right', MINUTE_MS),
      ]);
      for (const [store, token] of [
        [left, 'left'],
        [right, 'right'],
      ] as const) {
        await store.release('doc:1', token, 'process');
      }
      return replies.every(({ status }) => status === 'busy');
    });
    await eventually(async () => (await keysLeft()).length === 0);

    // Those who wait get it, one after the other, long before any TTL.
    let inside = 0;
    const work = (store: RedlockLockStore) =>
      new LockManager({ store }).run('doc:1', { waitMs: 25_000, ttlMs: MINUTE_MS }, async () => {
        inside += 1;
        expect(inside).toBe(1);
        await realTime(5);
        inside -= 1;
      });
    await Promise.all([left, right, left, right, left, right].map(work));
    await eventually(async () => (await keysLeft()).length === 0);
  });

  it('of thirty simultaneous tries over five stores leaves one holder at most', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, () => open()));
    for (let round = 0; round < 10; round += 1) {
      const name = `doc:${round}`;
      const replies = await Promise.all(
        stores.flatMap((store, index) =>
          Array.from({ length: 6 }, (_, n) =>
            store.tryAcquire(name, `token-${index}-${n}`, MINUTE_MS),
          ),
        ),
      );
      const granted = replies.filter(({ status }) => status === 'granted').length;
      expect(granted).toBeLessThanOrEqual(1);
      if (granted === 0)
        await eventually(async () => (await keysLeft(`lock:${name}`)).length === 0);
    }
  });
});

describe('the fence', () => {
  it('rises over every change of quorum, also where one node minted far ahead of the others', async () => {
    const quorums = [
      [0, 1, 2],
      [2, 3, 4],
      [0, 3, 4],
      [1, 2, 3],
      [0, 1, 4],
    ];
    const stores = await Promise.all(quorums.map((nodes) => openOnly(nodes)));
    let last = 0n;
    let ahead = BigInt(Date.now()) * 1_000n;
    for (let round = 0; round < 40; round += 1) {
      if (round % 4 === 0) {
        // The clock of one node is an hour further ahead.
        ahead += 3_600_000_000n;
        await admins[(round / 4) % 5]?.set('{lock:doc:1}:fence', String(ahead));
      }
      const store = stores[round % stores.length] as RedlockLockStore;
      const token = `token-${round}`;
      const reply = await store.tryAcquire('doc:1', token, MINUTE_MS);
      if (reply.status !== 'granted') throw new Error(`round ${round} was busy`);
      expect(reply.fence).toBeGreaterThan(last);
      last = reply.fence;
      expect(await store.release('doc:1', token, 'process')).toBe('released');
    }
    expect(last).toBeGreaterThan(BigInt(Date.now()) * 1_000n); // a fence ahead was granted, and passed on
  });
});

describe('administration with a minority away', () => {
  it('lists, inspects and revokes by quorum', async () => {
    const store = await openOnly([0, 1, 2]);
    const locks = new LockManager({ store });
    const lease = await locks.acquire('doc:1', { ttlMs: MINUTE_MS });
    await admins[0]?.set('lock:doc:part', 'left-over', 'PX', MINUTE_MS); // one node is no lock
    expect(await locks.inspect('doc:1')).toMatchObject({ fence: lease.fence, revoked: false });
    await expect(locks.inspect('doc:part')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await admins[0]?.del('lock:doc:part');
    const listed: string[] = [];
    for await (const { name } of locks.list()) listed.push(name);
    expect(listed).toEqual(['doc:1']);
    expect(await locks.revoke('doc:1')).toBe('revoked');
    await eventually(() => lease.signal.aborted);
    expect(lease.signal.reason).toMatchObject({ reason: 'REVOKED' });
    await lease.release();
    expect(await locks.inspect('doc:1')).toBeNull();
  });
});
