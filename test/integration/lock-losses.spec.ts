import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { buildClockShift } from '../support/clock-shift.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { type RedisServer, startRedis } from '../support/redis.js';

const ttlMs = 3_000;
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

function open<T>(thing: T, close: () => unknown): T {
  opened.push({ close: async () => close() });
  return thing;
}

async function server(env?: Readonly<Record<string, string>>): Promise<RedisServer> {
  const started = await startRedis(env && { env });
  return open(started, () => started.stop());
}

async function locksOn(port: number, prefix?: string): Promise<LockManager> {
  const client = new Redis(port, '127.0.0.1', { ...redisLockClientOptions });
  client.on('error', () => undefined); // servers go away on purpose
  open(client, () => client.disconnect());
  const store = new RedisLockStore({ client, prefix });
  open(store, () => store.close());
  await eventually(() => client.status === 'ready');
  return new LockManager({ store });
}

function admin({ port, host }: RedisServer): Redis {
  const client = new Redis(port, host);
  client.on('error', () => undefined);
  return open(client, () => client.disconnect());
}

/** When the signal of a lease has aborted, with the reason. */
function lost(lease: { readonly signal: AbortSignal }): Promise<unknown> {
  return eventually(() => lease.signal.aborted && { reason: lease.signal.reason as unknown }, {
    timeoutMs: ttlMs + 5_000,
    what: 'the holder to be told',
  });
}

describe('a failover that loses a confirmed lock', () => {
  it('is told to the first holder by its renewal, and the second has the higher fence', async () => {
    const [primary, standby] = [await server(), await server()];
    const proxy = await FaultProxy.start(primary);
    open(proxy, () => proxy.close());
    const standbyAdmin = admin(standby);
    await standbyAdmin.replicaof('127.0.0.1', primary.port);
    await eventually(async () =>
      (await standbyAdmin.info('replication')).includes('master_link_status:up'),
    );
    await standbyAdmin.replicaof('NO', 'ONE'); // the link breaks before the grant
    const first = await (await locksOn(proxy.port)).acquire('doc:1', { ttlMs });
    await primary.kill();
    proxy.retarget({ port: standby.port });
    const second = await (await locksOn(standby.port)).acquire('doc:1', { ttlMs, waitMs: 5_000 });
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(await lost(first)).toMatchObject({ reason: { code: 'LOCK_LOST' } });
    expect(() => first.assertHeld()).toThrow('no longer held');
    expect(() => second.assertHeld()).not.toThrow();
    await second.release();
  });
});

const clocks = await buildClockShift();
const isMovable = typeof clocks !== 'string' && (await findRedis()).kind === 'program';
if (!isMovable) process.stderr.write(`Skipped: a server clock cannot be moved here.\n`);
const withClocks = isMovable ? describe : describe.skip;

withClocks('a server whose clock jumps', () => {
  const shift = clocks as Exclude<typeof clocks, string>;
  let clock: Awaited<ReturnType<typeof shift.stepper>>;

  beforeAll(async () => {
    clock = await shift.stepper();
  });
  afterAll(async () => shift[Symbol.asyncDispose]());
  afterEach(() => clock.set(0));

  it('ahead: the lock is gone, its holder is told by a renewal, fences rise', async () => {
    const locks = await locksOn((await server(clock.env)).port);
    const first = await locks.acquire('doc:1', { ttlMs });
    await clock.set(60_000);
    expect(await lost(first)).toMatchObject({ reason: { code: 'LOCK_LOST' } });
    const second = await locks.acquire('doc:1', { ttlMs, waitMs: 5_000 });
    expect(second.fence).toBeGreaterThan(first.fence);
    await second.release();
  });

  it('back: the holder trusts its own clock only, releases, and the next fence is higher', async () => {
    const locks = await locksOn((await server(clock.env)).port);
    const first = await locks.acquire('doc:1', { ttlMs });
    await clock.set(-3_600_000);
    expect(first.remainingMs).toBeLessThanOrEqual(ttlMs);
    expect(await first.extend(ttlMs)).toBe(true);
    expect(first.remainingMs).toBeLessThanOrEqual(ttlMs);
    expect(await first.release()).toBe('released');
    const second = await locks.acquire('doc:1', { ttlMs, waitMs: 5_000 });
    expect(second.fence).toBeGreaterThan(first.fence);
    await second.release();
  });
});

describe('prefixes', () => {
  it('keep two applications on one server apart, with all of their keys', async () => {
    const redis = await server();
    const one = await (await locksOn(redis.port, 'one:')).acquire('doc:1', { ttlMs });
    const two = await (await locksOn(redis.port, 'two:')).acquire('doc:1', { ttlMs });
    const keys = await admin(redis).keys('*');
    expect(keys.filter((key) => !/^\{?(?:one|two):doc:1(?:\}|$)/.test(key))).toEqual([]);
    expect(keys).toEqual(expect.arrayContaining(['one:doc:1', 'two:doc:1']));
    await Promise.all([one.release(), two.release()]);
  });
});
