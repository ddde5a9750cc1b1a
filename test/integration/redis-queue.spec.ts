import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { MAX_LOOK_MS, PLACE_DEAD_MS, SAFETY_MS } from '../../src/lock/core/lock-store.js';
import { buildClockShift } from '../support/clock-shift.js';
import { eventually } from '../support/eventually.js';
import { realTime } from '../support/real-time.js';
import { type RedisLocks, startRedisLocks } from '../support/redis-locks.js';
import { startRedis } from '../support/redis.js';

const TTL_MS = 30_000;
const KEY = '{lock:hot}:waiters';
const clocks = await buildClockShift();
const itWithClock = typeof clocks === 'string' ? it.skip : it;

let redis: RedisLocks;
let admin: Redis;
let store: RedisLockStore;

beforeAll(async () => {
  redis = await startRedisLocks();
  ({ admin, store } = redis);
});

afterAll(() => redis.stop());

beforeEach(async () => {
  await admin.flushall();
  await store.tryAcquire('hot', 'holder.x.y', TTL_MS);
});

/** A look of a process at the lock, as a waiter makes it. */
async function look(process: string, token = `${process}.token`) {
  const reply = await store.tryAcquire('hot', token, TTL_MS, { process, ticket: undefined });
  if (reply.status === 'granted') throw new Error(`${process} was granted a lock that is held`);
  return reply;
}

/** So many processes that stand in the queue, in order. */
async function crowd(count: number): Promise<string[]> {
  const processes = Array.from({ length: count }, (_, n) => `process-${n}`);
  for (const process of processes) await look(process);
  return processes;
}

/** Commands that scripts have called since. */
async function commands(work: () => Promise<unknown>): Promise<number> {
  await admin.config('RESETSTAT');
  await work();
  const stats = await admin.info('commandstats');
  return [...stats.matchAll(/cmdstat_(?!config|info)[^:]+:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}

/** The process has missed its looks. */
async function dies(process: string): Promise<void> {
  await admin.zadd(KEY, -1, `@awake ${process}`);
}

describe('the queue of a lock on Redis', () => {
  it('is looked at with as many commands by one of 2 000 processes as by one of 10', async () => {
    await crowd(10);
    const few = await commands(() => look('process-9'));
    await crowd(2_000);
    expect(await commands(() => look('process-1999'))).toBe(few);
    expect(await store.inspect('hot')).toMatchObject({ queued: 2_000 });
  });

  it('lets the first two look as soon as they may, and the others the more rarely the farther they are behind', async () => {
    await crowd(1_000);
    expect(await look('process-0')).toMatchObject({ lookMs: undefined });
    expect(await look('process-1')).toMatchObject({ lookMs: undefined });
    expect(await look('process-2')).toMatchObject({ lookMs: SAFETY_MS });
    const { lookMs = 0 } = await look('process-999');
    expect(lookMs).toBeGreaterThan(SAFETY_MS);
    expect(lookMs).toBeLessThanOrEqual(MAX_LOOK_MS);
    // Nobody is dead before it has missed several looks.
    const score = Number(await admin.zscore(KEY, '@awake process-999'));
    const [seconds] = await admin.time();
    expect(-score / 1_000_000 - Number(seconds)).toBeGreaterThan((2 * lookMs) / 1_000);
  });

  it('tells only the head to come back while the free lock is reserved for it', async () => {
    await crowd(50);
    await admin.del('lock:hot');
    await look('process-30'); // who finds it free reserves it, and sees to it that it is taken
    for (const process of ['process-10', 'process-40']) {
      expect(await look(process)).toMatchObject({ lookMs: SAFETY_MS });
    }
    const head = { process: 'process-0', ticket: undefined };
    const granted = await store.tryAcquire('hot', 'head.token', TTL_MS, head);
    expect(granted.status).toBe('granted');
  });

  it('wakes a process that sleeps deeply when it has become the second', async () => {
    await crowd(400);
    const woken: string[] = [];
    const stop = store.onWake('process-399', (name, role) => void woken.push(`${role} ${name}`));
    await eventually(() => woken.includes('turn undefined')); // the subscription stands
    for (let n = 1; n < 399; n += 1) await store.leave('hot', `process-${n}`);
    await look('process-0');
    await eventually(() => woken.includes('standby hot'));
    stop();
  });

  it('passes over the dead at its front at once, and forgets those behind little by little', async () => {
    await crowd(60);
    for (let n = 0; n < 20; n += 1) await dies(`process-${n}`);
    for (let n = 40; n < 50; n += 1) await dies(`process-${n}`);
    await store.release('hot', 'holder.x.y', 'x');
    const [member = ''] = await admin.zrange(KEY, '0', '0', 'BYSCORE');
    expect(member).toMatch(/^@reserved process-20 /);
    for (let n = 0; n < 5; n += 1) await look('process-39');
    expect(await admin.zcount(KEY, '(0', '+inf')).toBe(30);
  });

  it('moves the place of a process to its next waiter with the grant', async () => {
    const first = await look('a');
    const b = await look('b');
    const behind = String(Number(b.ticket) + 5);
    await look('c');
    await store.release('hot', 'holder.x.y', 'x');
    const granted = await store.tryAcquire('hot', 'a.token', TTL_MS, {
      process: 'a',
      ticket: first.ticket,
      nextTicket: behind,
    });
    expect(granted).toMatchObject({ status: 'granted', nextLookMs: SAFETY_MS });
    expect(await admin.zrange(KEY, '(0', '+inf', 'BYSCORE')).toEqual(['b', 'a', 'c']);
  });

  it('keeps a process where it stands, unless its front waiter came later', async () => {
    const a = await look('a');
    await look('b');
    const placeOf = (ticket: number) => ({ process: 'a', ticket: String(ticket) });
    const early = await store.tryAcquire('hot', 'a', TTL_MS, placeOf(Number(a.ticket) - 1_000_000));
    expect(early).toMatchObject({ ticket: a.ticket });
    const late = await store.tryAcquire('hot', 'a', TTL_MS, placeOf(Number.MAX_SAFE_INTEGER));
    expect(late.status === 'busy' && Number(late.ticket)).toBeLessThan(Date.now() * 1_000 + 1e6);
    expect(await admin.zrange(KEY, '(0', '+inf', 'BYSCORE')).toEqual(['b', 'a']);
  });

  it('is gone ten minutes after its last refresh, and at once when nobody waits', async () => {
    await look('a');
    expect(await admin.pttl(KEY)).toBeGreaterThan(599_000);
    await store.leave('hot', 'a');
    expect(await admin.exists(KEY)).toBe(0);
  });

  itWithClock(
    'keeps a free lock for a dead head no longer when the clock was set back by an hour',
    async () => {
      if (typeof clocks === 'string') throw new Error(clocks);
      const clock = await clocks.stepper();
      await using server = await startRedis({ env: { ...clock.env } });
      const client = new Redis(server.port, server.host, { ...redisLockClientOptions });
      await eventually(() => client.status === 'ready');
      const stepped = new RedisLockStore({ client });
      const locks = new LockManager({ store: stepped });
      const held = await locks.acquire('hot');
      await stepped.tryAcquire('hot', 'd.DEAD.x', 5_000, { process: 'DEAD', ticket: undefined });
      await held.release(); // reserved for the dead one
      await clock.set(-3_600_000);
      const startedAt = performance.now();
      const lease = await locks.acquire('hot', { waitMs: 20_000 });
      expect(performance.now() - startedAt).toBeLessThan(PLACE_DEAD_MS);
      await lease.release();
      await locks.shutdown(0);
      await locks.close();
      client.disconnect();
    },
    60_000,
  );
});

describe('waiters of several processes', () => {
  it('are served in the order of their arrival, also those behind others of their process', async () => {
    await admin.flushall();
    const managers = Object.fromEntries(
      ['a', 'b', 'c'].map((label) => [label, new LockManager({ store, instanceId: label })]),
    );
    const held = await (managers['c'] as LockManager).acquire('hot');
    const order: string[] = [];
    const works: Promise<void>[] = [];
    for (const label of ['a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'b3', 'a5', 'b4']) {
      const locks = managers[label.charAt(0)] as LockManager;
      works.push(locks.run('hot', { waitMs: 60_000 }, () => void order.push(label)));
      await realTime(30); // arrivals are farther apart than a round trip takes
    }
    await held.release();
    await Promise.all(works);
    expect(order).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'b3', 'a5', 'b4']);
    await Promise.all(Object.values(managers).map((locks) => locks.shutdown(0)));
    expect(await admin.exists(KEY)).toBe(0);
  });
});
