import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { LockProcess } from '../support/lock-process.js';
import { type RedisServer, startRedis } from '../support/redis.js';

let server: RedisServer;
let proxy: FaultProxy;
let admin: Redis;
let processes: LockProcess[] = [];
let engines: { locks: LockManager; end: () => Promise<void> }[] = [];

beforeAll(async () => {
  server = await startRedis();
  proxy = await FaultProxy.start(server);
  admin = new Redis(server.port, server.host);
});

beforeEach(() => admin.flushall());

afterEach(async () => {
  await Promise.all(processes.map((one) => one.end()));
  await Promise.all(engines.map(({ end }) => end()));
  processes = [];
  engines = [];
  await proxy.pass();
});

afterAll(async () => {
  admin.disconnect();
  await proxy[Symbol.asyncDispose]();
  await server.stop();
});

function start(...args: Parameters<typeof LockProcess.start>): LockProcess {
  const started = LockProcess.start(...args);
  processes.push(started);
  return started;
}

/** An engine with connections of its own, as another process would have. */
async function engine(port: number): Promise<LockManager> {
  const client = new Redis(port, '127.0.0.1', {
    ...redisLockClientOptions,
    disconnectTimeout: 100,
  });
  client.on('error', () => undefined); // the connection is cut on purpose
  await eventually(() => client.status === 'ready');
  const store = new RedisLockStore({ client });
  const locks = new LockManager({ store });
  const end = async () => {
    await locks.shutdown(0);
    await locks.close();
    client.disconnect();
  };
  engines.push({ locks, end });
  return locks;
}

/** Waits until so many processes stand in line. */
async function inLine(locks: LockManager, name: string, count: number): Promise<void> {
  await eventually(async () => (await locks.inspect(name))?.queued === count, {
    what: `${count} processes in line`,
  });
}

describe('the line over processes', () => {
  it('excludes and is fair over four processes with one unprotected counter', async () => {
    const all = Array.from({ length: 4 }, () => start('count', server.port, 'counter', 10_000));
    await Promise.all(all.map((one) => one.said('ready')));
    await admin.set('go', 1);
    await Promise.all(all.map((one) => one.said('counted')));
    expect(await admin.get('counter')).toBe('200');
    const fences = (await admin.lrange('fences', 0, -1)).map(BigInt);
    expect(fences.every((fence, n) => n === 0 || fence > (fences[n - 1] ?? 0n))).toBe(true);

    // While all four are at it, each has its turn once in four; a late message may cost it one.
    const holders = await admin.lrange('holders', 0, -1);
    const lastStart = Math.max(...[...new Set(holders)].map((one) => holders.indexOf(one)));
    const firstEnd = Math.min(...[...new Set(holders)].map((one) => holders.lastIndexOf(one)));
    const common = holders.slice(lastStart, firstEnd + 1);
    expect(common.length).toBeGreaterThan(60);
    for (const one of new Set(holders)) {
      const share = common.filter((holder) => holder === one).length / common.length;
      expect(share).toBeGreaterThan(0.2);
      expect(share).toBeLessThan(0.3);
    }
  }, 90_000);

  it('goes on without a head that is killed', async () => {
    const locks = await engine(server.port);
    const held = await locks.acquire('doc:1');
    const head = start('wait', server.port, 'doc:1', 10_000);
    await inLine(locks, 'doc:1', 1);
    const next = start('wait', server.port, 'doc:1', 10_000);
    await inLine(locks, 'doc:1', 2);
    head.signal('SIGKILL');
    const startedAt = performance.now();
    await held.release();
    await next.said('held');
    expect(performance.now() - startedAt).toBeLessThan(2_500); // its turn, and not a safety timer
  });

  it('goes on when the holder is killed, in order', async () => {
    const holder = start('hold', server.port, 'doc:1', 1_500);
    await holder.said('held');
    const locks = await engine(server.port);
    const first = start('wait', server.port, 'doc:1', 10_000);
    await inLine(locks, 'doc:1', 1);
    const second = start('wait', server.port, 'doc:1', 10_000);
    await inLine(locks, 'doc:1', 2);
    holder.signal('SIGKILL');
    await first.said('held');
    expect(second.events.some(({ event }) => event === 'held')).toBe(false);
  });

  it('survives the loss of the subscriber connection at the moment of a release', async () => {
    const [holder, waiter] = [await engine(server.port), await engine(proxy.port)];
    for (let round = 0; round < 5; round += 1) {
      const held = await holder.acquire('doc:1');
      const taking = waiter.acquire('doc:1', { waitMs: 20_000 });
      await inLine(holder, 'doc:1', 1);
      proxy.resetConnections();
      await held.release();
      await (await taking).release();
    }
  });

  it('stalls for no longer than the safety timer when every message is lost', async () => {
    const [holder, waiter] = [await engine(server.port), await engine(server.port)];
    const held = await holder.acquire('doc:1');
    const taking = waiter.acquire('doc:1', { waitMs: 20_000 });
    await inLine(holder, 'doc:1', 1);
    await admin.call('ACL', 'SETUSER', 'default', 'resetchannels');
    try {
      const startedAt = performance.now();
      await held.release();
      await (await taking).release();
      expect(performance.now() - startedAt).toBeLessThan(6_000);
    } finally {
      await admin.call('ACL', 'SETUSER', 'default', 'allchannels');
    }
  });

  it('costs an idle waiter less than one command in two seconds', async () => {
    const [holder, waiter] = [await engine(server.port), await engine(server.port)];
    const held = await holder.acquire('doc:1', { ttlMs: 60_000 });
    const all = Array.from({ length: 16 }, () => waiter.acquire('doc:1', { waitMs: 20_000 }));
    await inLine(holder, 'doc:1', 1);
    await admin.config('RESETSTAT');
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    const stats = await admin.info('commandstats');
    // Sixteen waiters of one process ask as one.
    expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)).toBeLessThanOrEqual(4);
    await held.release();
    for (const taking of all) await (await taking).release();
  });
});

describe('five thousand rounds of random acquiring, aborting and releasing', () => {
  it('leave no key, no place in line and nobody waiting', async () => {
    const locks = await Promise.all([engine(proxy.port), engine(proxy.port), engine(proxy.port)]);
    const names = ['a', 'b', 'c', 'd', 'e'].map((end) => `random:${end}`);
    const pick = <T>(from: readonly T[]) => from[Math.floor(Math.random() * from.length)] as T;
    const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
    const working = new Set<string>();
    let grants = 0;
    const round = async () => {
      const gone = new AbortController();
      const name = pick(names);
      const waitMs = pick([0, 0, 5, 50, 500]);
      const taking = pick(locks).acquire(name, { waitMs, signal: gone.signal, ttlMs: 30_000 });
      if (Math.random() < 0.3) void pause().then(() => gone.abort(new Error('left')));
      const lease = await taking.catch(() => null); // busy, timed out or aborted
      if (!lease) return;
      expect(working.has(name)).toBe(false);
      working.add(name);
      grants += 1;
      if (Math.random() < 0.5) await pause();
      working.delete(name);
      await lease.release();
    };
    for (let batch = 0; batch < 100; batch += 1) {
      proxy.addLatency(batch % 3);
      await Promise.all(Array.from({ length: 50 }, round));
    }
    expect(grants).toBeGreaterThan(500);
    await proxy.pass();
    const left = () => admin.keys('*').then((keys) => keys.filter((key) => !/:fence$/.test(key)));
    await eventually(async () => (await left()).length === 0, { timeoutMs: 15_000 });
    await Promise.all(locks.map((one) => one.shutdown(0)));
    await admin.config('RESETSTAT');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await admin.info('commandstats')).not.toContain('evalsha');
  }, 120_000);
});
