import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  assertHeld,
  LockManager,
  redisLockClientOptions,
  RedisLockStore,
} from '../../src/lock/index.js';
import { SystemClock } from '../../src/lock/core/clock.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { LockProcess } from '../support/lock-process.js';
import { realTime } from '../support/real-time.js';
import { type RedisServer, startRedis } from '../support/redis.js';

const TTL_MS = 3_000;
const permitsKey = '{lock:api}:permits';
const holdersKey = '{lock:api}:permits:holders';

/** A replica whose wall clock is wrong. */
class SkewedClock extends SystemClock {
  constructor(private readonly skewMs: number) {
    super();
  }

  override now() {
    const { monoMs, wallMs } = super.now();
    return { monoMs, wallMs: wallMs + this.skewMs };
  }
}

let server: RedisServer;
let admin: Redis;
let ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
});

beforeEach(() => admin.flushall());

afterEach(async () => {
  for (const end of ends) await end();
  ends = [];
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

/** An engine with connections of its own, as another process would have. */
async function engine(skewMs = 0): Promise<LockManager> {
  return engineOn(await storeAt(server.port), skewMs);
}

async function storeAt(port: number): Promise<RedisLockStore> {
  const client = new Redis(port, server.host, { ...redisLockClientOptions });
  ends.push(async () => client.disconnect());
  await eventually(() => client.status === 'ready');
  return new RedisLockStore({ client });
}

function engineOn(store: RedisLockStore, skewMs = 0): LockManager {
  const locks = new LockManager({
    store,
    defaults: { ttlMs: TTL_MS },
    clock: new SkewedClock(skewMs),
  });
  ends.unshift(async () => {
    await locks.shutdown(0);
    await locks.close();
  });
  return locks;
}

function held(count: number): Promise<unknown> {
  return eventually(async () => (await admin.zcard(permitsKey)) === count, {
    what: `${count} permits to be held`,
  });
}

describe('a semaphore on a real Redis', () => {
  it('never lets more work than it has permits, over engines whose clocks are hours apart', async () => {
    const engines = await Promise.all([0, 7_200_000, -7_200_000].map(engine));
    const fences: bigint[] = [];
    let working = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 90 }, (_, n) =>
        (engines[n % 3] as LockManager)
          .semaphore('api', 4)
          .run({ waitMs: 60_000 }, async (lease) => {
            most = Math.max(most, (working += 1));
            await realTime(n % 7);
            lease.assertHeld();
            fences.push(lease.fence);
            working -= 1;
          }),
      ),
    );
    expect(fences).toHaveLength(90);
    expect(new Set(fences).size).toBe(90);
    expect(most).toBeLessThanOrEqual(4);
    expect(most).toBeGreaterThan(1);
    expect(await admin.keys('*')).toEqual(['{lock:api}:permits:fence']);
  });

  it('serves as many askers of one process at once as there are permits, however far the server is', async () => {
    await using proxy = await FaultProxy.start(server);
    proxy.addLatency(20);
    // One after the other they would need half a minute.
    const options = { waitMs: 12_000, ttlMs: 60_000, commandTimeoutMs: 12_000 };
    const semaphore = engineOn(await storeAt(proxy.port)).semaphore('api', 1_000);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 800 }, () => semaphore.acquire(options)),
    );
    const leases = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(leases).toHaveLength(800);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await admin.keys('*')).toEqual(['{lock:api}:permits:fence']);
  }, 30_000);

  it('refuses one try only when all permits are taken, whatever others of the process ask for', async () => {
    const semaphore = (await engine()).semaphore('api', 40);
    let taken = 0;
    const use = async (n: number) => {
      const lease = await (n % 2 === 0
        ? semaphore.acquire({ waitMs: 5_000 })
        : semaphore.tryAcquire());
      expect(lease).not.toBeNull(); // at most twenty are at it
      taken += 1;
      await realTime(n % 3);
      taken -= 1;
      await lease?.release();
    };
    for (let round = 0; round < 50; round += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, n) => use(n)));
    }
    expect(taken).toBe(0);
    const all = await Promise.all(Array.from({ length: 40 }, () => semaphore.tryAcquire()));
    expect(all).not.toContain(null);
    expect(await semaphore.tryAcquire()).toBeNull();
    for (const lease of all) await lease?.release();
  }, 30_000);

  it('keeps one free permit for each process that waits, and gives the rest to whoever asks', async () => {
    const locks = await engine();
    const semaphore = locks.semaphore('api', 3);
    const leases = await Promise.all([0, 1, 2].map(() => semaphore.acquire()));
    const permits = (await storeAt(server.port)).semaphores(3);
    const dead = { process: 'DEAD', ticket: undefined };
    expect((await permits.tryAcquire('api', 'x.DEAD.x', TTL_MS, dead)).status).toBe('busy');
    await leases[0]?.release();
    expect(await semaphore.tryAcquire()).toBeNull(); // it is kept for the one who waits
    await leases[1]?.release();
    const lease = await semaphore.tryAcquire();
    expect(lease).not.toBeNull();
    for (const one of [lease, leases[2]]) await one?.release();
    await permits.leave('api', 'DEAD');
  });

  it('serves processes in the order in which they came, whatever their clocks say', async () => {
    const engines = await Promise.all([0, 3_600_000, -3_600_000, 0].map(engine));
    const [first, ...others] = engines as [LockManager, ...LockManager[]];
    const holders = [
      await first.semaphore('api', 2).acquire(),
      await first.semaphore('api', 2).acquire(),
    ];
    const order: number[] = [];
    const works: Promise<void>[] = [];
    for (const [n, other] of others.entries()) {
      works.push(
        other.semaphore('api', 2).run({ waitMs: 60_000 }, async () => {
          order.push(n);
        }),
      );
      await eventually(
        async () => (await admin.zcount('{lock:api}:permits:waiters', '(0', '+inf')) === n + 1,
      );
    }
    await holders[0]?.release();
    await Promise.all(works);
    await holders[1]?.release();
    expect(order).toEqual([0, 1, 2]);
  });

  it('has the permits of killed processes back within one lease time, and nobody else’s', async () => {
    const locks = await engine();
    const semaphore = locks.semaphore('api', 2);
    const processes = [0, 1].map(() =>
      LockProcess.start('hold-permit', server.port, 'api', TTL_MS),
    );
    await Promise.all(processes.map((one) => one.said('held')));
    expect(await semaphore.tryAcquire()).toBeNull();
    for (const one of processes) one.signal('SIGKILL');
    await Promise.all(processes.map((one) => one.end()));
    // At capacity, but nobody renews: that is how the dead are told from the living.
    const lives = (await semaphore.holders()).map(({ remainingMs }) => remainingMs);
    expect(Math.max(...lives)).toBeLessThanOrEqual(TTL_MS);
    const leases = await Promise.all([0, 1].map(() => semaphore.acquire({ waitMs: 20_000 })));
    expect(await semaphore.tryAcquire()).toBeNull();
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it.each([permitsKey, holdersKey])(
    'gives nobody’s permit away when %s is deleted',
    async (key) => {
      const semaphore = (await engine()).semaphore('api', 2);
      const leases = [await semaphore.acquire(), await semaphore.acquire()];
      await admin.del(key);
      expect(await semaphore.tryAcquire()).toBeNull();
      expect(await admin.zcard(permitsKey)).toBe(2);
      expect(await admin.hlen(holdersKey)).toBe(2);
      await realTime(TTL_MS); // renewed since
      for (const lease of leases) {
        lease.assertHeld();
        assertHeld(lease.shared); // as a worker thread would
      }
      await admin.del(key);
      expect(await leases[0]?.release()).toBe('released');
      const next = await semaphore.acquire();
      expect(next.fence).toBeGreaterThan(leases[1]?.fence ?? 0n);
      expect(await semaphore.tryAcquire()).toBeNull();
      await Promise.all([next.release(), leases[1]?.release()]);
      expect(await admin.exists(permitsKey, holdersKey)).toBe(0);
    },
  );

  it('tells its holders when everything is deleted, and its fences go on rising', async () => {
    const semaphore = (await engine()).semaphore('api', 1);
    const lease = await semaphore.acquire();
    await admin.flushall();
    await eventually(() => lease.signal.aborted, { timeoutMs: TTL_MS });
    expect(lease.signal.reason).toMatchObject({ reason: 'NOT_OWNER' });
    const next = await semaphore.acquire();
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  it('renews and releases on a server without memory, which grants nothing', async () => {
    const semaphore = (await engine()).semaphore('api', 2);
    const lease = await semaphore.acquire();
    await admin.config('SET', 'maxmemory', '1');
    try {
      await expect(semaphore.tryAcquire()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(await lease.extend(2 * TTL_MS)).toBe(true);
      expect(await lease.release()).toBe('released');
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    await held(0);
  });

  it('gives no verdict on a read-only replica', async () => {
    const semaphore = (await engine()).semaphore('api', 1);
    const lease = await semaphore.acquire();
    await admin.replicaof('127.0.0.1', 1);
    try {
      await expect(semaphore.tryAcquire()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    } finally {
      await admin.replicaof('NO', 'ONE');
    }
    await eventually(() => lease.extend(TTL_MS).catch(() => false));
    await lease.release();
  });

  it('keeps all keys of a name in one slot, and leaves nothing of dead holders', async () => {
    const spread = await startRedis({ args: ['--cluster-enabled', 'yes'] });
    const one = new Redis(spread.port, spread.host, { ...redisLockClientOptions });
    await eventually(() => one.status === 'ready');
    await one.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => (await one.cluster('INFO')).includes('cluster_state:ok'));
    const store = new RedisLockStore({ client: one }).semaphores(2);
    expect(await store.tryAcquire('api', 'token', 200)).toMatchObject({ status: 'granted' });
    expect(await store.tryAcquire('b', 'token', 200)).toMatchObject({ status: 'granted' });
    const renewals = ['api', 'b', 'c'].map((name) => ({ name, token: 'token', ttlMs: 300 }));
    expect(await store.renew(renewals)).toEqual(['renewed', 'renewed', 'not-owner']);
    await eventually(async () => (await one.keys('*')).every((key) => key.endsWith(':fence')));
    one.disconnect();
    await spread.stop();
  });
});
