import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  LockBusyError,
  LockLostError,
  LockManager,
  LockUnavailableError,
  redisLockClientOptions,
  RedisLockStore,
} from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { expectHeldAndRelease } from '../support/lease-checks.js';
import { LockProcess } from '../support/lock-process.js';
import { type RedisServer, startRedis } from '../support/redis.js';

let server: RedisServer;
let proxy: FaultProxy;
let admin: Redis;
let client: Redis;
let store: RedisLockStore;
let locks: LockManager;
let processes: LockProcess[] = [];

beforeAll(async () => {
  server = await startRedis();
  proxy = await FaultProxy.start(server);
  admin = new Redis(server.port, server.host, { maxRetriesPerRequest: null });
  admin.on('error', () => undefined); // the server goes away on purpose
  client = new Redis(proxy.port, '127.0.0.1', { ...redisLockClientOptions });
  client.on('error', () => undefined);
  store = new RedisLockStore({ client });
  locks = new LockManager({ store, instanceId: 'under test' });
});

beforeEach(async () => {
  await proxy.pass();
  await eventually(() => client.status === 'ready');
  await admin.flushall();
});

afterEach(async () => {
  await Promise.all(processes.map((one) => one.end()));
  processes = [];
});

afterAll(async () => {
  await store.close();
  client.disconnect();
  admin.disconnect();
  await proxy[Symbol.asyncDispose]();
  await server.stop();
});

function start(...args: Parameters<typeof LockProcess.start>): LockProcess {
  const started = LockProcess.start(...args);
  processes.push(started);
  return started;
}

function lockKeys(): Promise<string[]> {
  return admin.keys('lock:*');
}

async function failure<T extends Error>(promise: Promise<unknown>): Promise<T> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: T) => error,
  );
}

describe('a lost reply', () => {
  it('never locks its own sender out: one try is unavailable, and the next is granted', async () => {
    const cut = proxy.dropNextReplyThenCut();
    const error = await failure(locks.acquire('doc:1'));
    await cut;
    expect(error).toBeInstanceOf(LockUnavailableError);
    await eventually(() => locks.tryAcquire('doc:1').catch(() => null), { timeoutMs: 3_000 });
  });

  it('is found to be a grant by a waiter that asks again with the same token', async () => {
    const cut = proxy.dropNextReplyThenCut();
    const taking = locks.acquire('doc:1', { waitMs: 10_000 });
    await cut;
    const token = await admin.get('lock:doc:1');
    const fence = await admin.get('{lock:doc:1}:fence');
    expect(token).not.toBeNull();
    const lease = await taking;
    expect(await admin.get('lock:doc:1')).toBe(token);
    expect(lease.fence.toString()).toBe(fence);
    await expectHeldAndRelease(locks, lease);
  });

  it('to a release counts as released', async () => {
    const outcomes: string[] = [];
    const stop = locks.events.on('released', ({ outcome }) => outcomes.push(outcome));
    const lease = await locks.acquire('doc:1');
    const cut = proxy.dropNextReplyThenCut();
    expect(await lease.release()).toBe('unknown');
    await cut;
    await eventually(async () => (await lease.release()) === 'released');
    expect(outcomes).toEqual(['unknown']);
    stop();
  });
});

describe('a server that does not answer', () => {
  it('makes one try unavailable within commandTimeoutMs and keeps no key nobody owns', async () => {
    await admin.call('CLIENT', 'PAUSE', '1500', 'ALL');
    const startedAt = performance.now();
    const error = await failure(locks.acquire('doc:1', { commandTimeoutMs: 300 }));
    expect(performance.now() - startedAt).toBeLessThan(1_200);
    expect(error).toBeInstanceOf(LockUnavailableError);
    // The command that was given up runs when the pause ends, and so does its undoing.
    await eventually(() => locks.tryAcquire('doc:1').catch(() => null));
  });

  it('cannot keep a holder from learning that its time is over', async () => {
    const running = failure<LockLostError>(
      locks.run('doc:1', { ttlMs: 1_500 }, async (lease) => {
        await server.pause();
        await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
        return 'late';
      }),
    );
    const error = await running;
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'EXPIRED', result: 'late' });
    await server.resume();
    await eventually(async () => (await lockKeys()).length === 0);
    await eventually(() => locks.tryAcquire('doc:1').catch(() => null));
  });

  it('is left when its connection is half open', async () => {
    proxy.blackHole();
    expect(await failure(locks.acquire('doc:1'))).toBeInstanceOf(LockUnavailableError);
    await eventually(() => client.status !== 'ready', { timeoutMs: 10_000, everyMs: 100 });
    await proxy.pass();
    await eventually(() => locks.tryAcquire('doc:1').catch(() => null));
  });
});

describe('a server that is down', () => {
  it('is unavailable at once, and works again without a restart of ours', async () => {
    await proxy.refuse();
    await eventually(() => client.status !== 'ready');
    const startedAt = performance.now();
    const all = await Promise.all(
      Array.from({ length: 50 }, () => failure(locks.acquire('doc:1'))),
    );
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    for (const error of all) expect(error).toBeInstanceOf(LockUnavailableError);
    await proxy.pass();
    const lease = await eventually(() => locks.tryAcquire('doc:1').catch(() => null));
    await lease.release();
    expect(await lockKeys()).toEqual([]);
  });

  it('lets a short interruption pass without loss', async () => {
    await locks.run('doc:1', { ttlMs: 9_000 }, async (lease) => {
      const { fence } = lease;
      await eventually(() => lease.remainingMs < 8_500);
      proxy.resetConnections();
      // Over the new connection at once, not when the watchdog would have been due.
      await eventually(() => lease.remainingMs > 8_500, { timeoutMs: 1_500 });
      expect(await admin.get('{lock:doc:1}:fence')).toBe(fence.toString());
    });
  });

  it('that comes back empty is a loss, told within a renewal', async () => {
    const error = await failure<LockLostError>(
      locks.run('doc:1', { ttlMs: 3_000 }, async (lease) => {
        await server.kill();
        await server.restart();
        await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
      }),
    );
    expect(error).toMatchObject({ reason: 'NOT_OWNER' });
    expect(await lockKeys()).toEqual([]);
  });

  it('during a job crashes nothing and rejects nothing unheard', async () => {
    const worker = start('hold', proxy.port, 'doc:1', 1_500);
    await worker.said('held');
    await proxy.refuse();
    expect(await worker.said('lost')).toMatchObject({ reason: 'EXPIRED' });
    await proxy.pass();
    expect(worker.events.filter(({ event }) => event === 'unhandledRejection')).toEqual([]);
  });
});

describe('a demoted server', () => {
  it('is no verdict on anything, and is served again after its promotion', async () => {
    const lease = await locks.acquire('doc:1', { ttlMs: 10_000 });
    await admin.replicaof('127.0.0.1', 1);
    expect(await failure(locks.acquire('doc:2'))).toBeInstanceOf(LockUnavailableError);
    expect(await failure(locks.acquire('doc:1'))).toBeInstanceOf(LockUnavailableError);
    lease.assertHeld();
    await admin.replicaof('NO', 'ONE');
    await eventually(() => locks.tryAcquire('doc:2').catch(() => null));
    await expectHeldAndRelease(locks, lease);
  });
});

describe('a key that is taken away', () => {
  it('is told to the work within a renewal, and the next holder is left alone', async () => {
    const error = await failure<LockLostError>(
      locks.run('doc:1', { ttlMs: 900 }, async (lease) => {
        await admin.set('lock:doc:1', 'the-next-holder', 'PX', 60_000);
        await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
      }),
    );
    expect(error).toMatchObject({ reason: 'NOT_OWNER' });
    expect(await admin.get('lock:doc:1')).toBe('the-next-holder');
    const leftMs = await admin.pttl('lock:doc:1');
    expect(leftMs).toBeGreaterThan(50_000);
    expect(leftMs).toBeLessThanOrEqual(60_000);
  });

  it('is renewed and released although the server forgot its scripts in between', async () => {
    await locks.run('doc:1', { ttlMs: 900 }, async (lease) => {
      await admin.script('FLUSH');
      await eventually(() => lease.remainingMs < 700);
      await eventually(() => lease.remainingMs > 700);
      await admin.script('FLUSH');
    });
    expect(await lockKeys()).toEqual([]);
  });
});

describe('processes', () => {
  it('take a killed holder over when its TTL has passed, with a higher fence', async () => {
    const holder = start('hold', server.port, 'doc:1', 2_000);
    const { fence = '0' } = await holder.said('held');
    await expect(locks.acquire('doc:1')).rejects.toThrow(LockBusyError);
    holder.signal('SIGKILL');
    const startedAt = performance.now();
    const lease = await locks.acquire('doc:1', { waitMs: 10_000 });
    expect(performance.now() - startedAt).toBeLessThan(2_500);
    expect(lease.fence).toBeGreaterThan(BigInt(fence));
    await lease.release();
  });

  it('are told on waking that they were stopped beyond their TTL', async () => {
    const holder = start('hold', server.port, 'doc:1', 1_000);
    await holder.said('held');
    holder.signal('SIGSTOP');
    const lease = await locks.acquire('doc:1', { waitMs: 10_000 });
    holder.signal('SIGCONT');
    await holder.said('lost');
    lease.assertHeld();
    expect(await lease.release()).toBe('released');
  });

  it('are refused by assertHeld after their event loop was blocked', async () => {
    const holder = start('block', server.port, 'doc:1', 500);
    expect(await holder.said('refused')).toMatchObject({ reason: 'EXPIRED' });
  });

  it('end although they hold a lock and its watchdog is running', async () => {
    const holder = start('leave', server.port, 'doc:1', 30_000);
    await holder.said('held');
    await holder.exit();
  });

  it('never lose an update of an unprotected counter, and fences rise in the order of holders', async () => {
    const counters = Array.from({ length: 3 }, () => start('count', server.port, 'counter', 5_000));
    await Promise.all(counters.map((one) => one.said('ready')));
    await admin.set('go', 1);
    await Promise.all(counters.map((one) => one.said('counted')));
    expect(await admin.get('counter')).toBe('150');
    const fences = (await admin.lrange('fences', 0, -1)).map(BigInt);
    const rising = fences.every((fence, index) => index === 0 || fence > (fences[index - 1] ?? 0n));
    expect(rising).toBe(true);
  }, 90_000);

  it('give twenty simultaneous callers of one process one lease', async () => {
    const tries = await Promise.all(Array.from({ length: 20 }, () => locks.tryAcquire('doc:1')));
    expect(tries.filter((lease) => lease !== null)).toHaveLength(1);
  });
});

describe('waiters over processes', () => {
  it('are woken by a hint of a release elsewhere, long before their safety timer', async () => {
    const other = new LockManager({ store, instanceId: 'other' });
    const held = await other.acquire('doc:1');
    const taking = locks.acquire('doc:1', { waitMs: 20_000 });
    await eventually(async () => (await admin.pubsub('CHANNELS', 'lock:wake:*')).length === 2);
    await eventually(async () => (await other.inspect('doc:1'))?.queued === 1);
    const startedAt = performance.now();
    await held.release();
    await (await taking).release();
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });
});
