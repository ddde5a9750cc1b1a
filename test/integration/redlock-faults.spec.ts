import { beforeEach, describe, expect, it } from '@jest/globals';
import { LockManager, RedlockLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { realTime } from '../support/real-time.js';
import { JumpClock, MINUTE_MS, QUARANTINE_MS, redlockNodes } from '../support/redlock.js';

const { servers, admins, closers, clientOf, open, openOnly, keysLeft } = redlockNodes();

describe('any minority that is', () => {
  let proxies: FaultProxy[];
  let store: RedlockLockStore;

  beforeEach(async () => {
    proxies = await Promise.all(servers.map((server) => FaultProxy.start(server)));
    closers.push(() => Promise.all(proxies.map((proxy) => proxy.close())));
    store = await open(
      proxies.map(({ port }) => port),
      { nodeTimeoutMs: 3_000 },
    );
  });

  type Harm = readonly [
    what: string,
    harm: (node: number) => unknown,
    heal: (node: number) => unknown,
  ];
  const harms: readonly Harm[] = [
    ['killed', (node) => servers[node]?.kill(), (node) => servers[node]?.restart()],
    ['frozen', (node) => servers[node]?.pause(), (node) => servers[node]?.resume()],
    ['slow', (node) => proxies[node]?.addLatency(4_000), (node) => proxies[node]?.pass()],
    ['cut off', (node) => proxies[node]?.refuse(), (node) => proxies[node]?.pass()],
  ];

  it.each(harms)(
    '%s changes nothing, and a majority of them grants nothing',
    async (what, harm, heal) => {
      const locks = new LockManager({
        store,
        defaults: { commandTimeoutMs: 15_000, ttlMs: MINUTE_MS },
      });
      const held = await locks.acquire('doc:held');
      const harmed = [0, 1, 2, 3, 4].sort(() => Math.random() - 0.5).slice(0, 3);
      for (const node of harmed.slice(0, 2)) await harm(node);
      try {
        const lease = await locks.acquire('doc:1');
        expect(lease.fence).toBeGreaterThan(0n);
        await expect(locks.acquire('doc:held')).rejects.toMatchObject({ code: 'LOCK_BUSY' });
        expect(await held.extend(MINUTE_MS)).toBe(true);
        expect(await lease.release()).toBe('released');
        const again = await locks.acquire('doc:1');
        expect(again.fence).toBeGreaterThan(lease.fence);
        expect(await again.release()).toBe('released');

        await harm(harmed[2] as number);
        await expect(locks.acquire('doc:2')).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          message: expect.stringMatching(/3 of 5 Redlock nodes are needed.*127\.0\.0\.1:\d+: /),
        });
      } finally {
        for (const node of harmed) await heal(node);
      }
      // What the harmed ones had not learnt they learn now: nothing is left but what is held.
      await eventually(
        async () => (await keysLeft()).filter((key) => key !== 'lock:doc:held').length === 0,
        { what: 'the keys of attempts and releases to go' },
      );
      if (what !== 'killed') await eventually(async () => (await held.release()) === 'released');
      else expect(await held.release()).toBe('unknown'); // three of five have forgotten it
    },
  );
});

describe('a node that comes back empty', () => {
  it('does not vote before every lock that it may have forgotten is over', async () => {
    const seenBefore = new JumpClock();
    const holder = await openOnly([0, 1, 2]);
    const others = await openOnly([2, 3, 4], seenBefore);
    expect(await holder.tryAcquire('doc:1', 'first', MINUTE_MS)).toMatchObject({
      status: 'granted',
    });
    await servers[2]?.restart();
    // With its vote these three would be a quorum, beside a holder on the other two.
    const refusal = {
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('started lately'),
    };
    await eventually(async () => {
      await expect(others.tryAcquire('doc:1', 'second', 1_000)).rejects.toMatchObject(refusal);
      return true;
    });
    // The same to a process that has never seen it before: it tells how long it has been up.
    const newcomer = new RedlockLockStore({
      clients: [2, 3, 4].map((node) => clientOf(servers[node]?.port ?? 0)),
    });
    closers.push(() => newcomer.close());
    await newcomer.start();
    await expect(newcomer.tryAcquire('doc:9', 'token', 1_000)).rejects.toMatchObject(refusal);
    expect(await keysLeft('lock:doc:9')).toEqual([]);

    seenBefore.jump(QUARANTINE_MS - 1_000 - 60_000);
    await expect(others.tryAcquire('doc:1', 'second', 1_000)).rejects.toMatchObject(refusal);
    seenBefore.jump(61_000);
    await eventually(async () => {
      const reply = await others.tryAcquire('doc:1', 'second', 1_000);
      return reply.status === 'granted';
    });
  });

  it('does not confirm renewals meanwhile', async () => {
    const store = await openOnly([0, 1, 2]);
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    const renewals = [{ name: 'doc:1', token: 'token', ttlMs: MINUTE_MS }];
    expect(await store.renew(renewals)).toEqual(['renewed']);
    await servers[2]?.restart();
    await admins[2]?.set('lock:doc:1', 'token', 'PX', MINUTE_MS); // as from an old file of its own
    for (let round = 0; round < 5; round += 1) {
      expect(await store.renew(renewals)).toEqual(['unknown']);
      await realTime(50);
    }
  });
});
