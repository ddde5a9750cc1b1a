import { describe, expect, it } from '@jest/globals';
import { sleep } from '../../../src/lock/core/clock.js';
import { ManualClock, settle } from '../../../src/lock/testing/manual-clock.js';
import { fingerprintOf } from '../../../src/key-pool/fingerprint.js';
import { KeyPool } from '../../../src/key-pool/key-pool.js';
import type { PoolTerms } from '../../../src/key-pool/pool-store.js';
import {
  MemoryPools,
  MemoryPoolStore,
} from '../../../src/key-pool/stores/memory/memory-pool-store.js';

const keys = ['sk-one', 'sk-two', 'sk-three'];
const fingerprints = keys.map(fingerprintOf);

function setUp(terms: { concurrency?: number; requestsPerMinute?: number } = {}) {
  const clock = new ManualClock();
  const pools = new MemoryPools();
  const replica = () => {
    const given = { members: fingerprints, concurrency: 1, ...terms };
    const store = new MemoryPoolStore(given, clock, pools);
    return new KeyPool({ name: 'llm', keys, store, clock, ttlMs: 3_000 });
  };
  return { clock, replica };
}

/** A pool's store that is 10 ms away. */
class FarPoolStore extends MemoryPoolStore {
  asked = 0;

  constructor(
    terms: PoolTerms,
    private readonly far: ManualClock,
  ) {
    super(terms, far);
  }

  override async tryAcquire(...asked: Parameters<MemoryPoolStore['tryAcquire']>) {
    this.asked += 1;
    await sleep(this.far, 10);
    const reply = await super.tryAcquire(...asked);
    await sleep(this.far, 10);
    return reply;
  }
}

describe('a pool of keys', () => {
  it('gives keys to as many callers at once as may use them, however far the store is', async () => {
    const clock = new ManualClock();
    const store = new FarPoolStore({ members: fingerprints, concurrency: 50 }, clock);
    const pool = new KeyPool({ name: 'llm', keys, store, clock, ttlMs: 60_000 });
    const take = () => pool.take({ waitMs: 30_000 });
    const taking = Promise.all(Array.from({ length: 150 }, take));
    await clock.advance(21);
    const taken = await taking;
    expect(new Set(taken.map(({ member }) => member)).size).toBe(3);

    const waiting = Array.from({ length: 40 }, take);
    await clock.advance(100);
    store.asked = 0;
    for (const { lease } of taken.slice(0, 40)) void lease.release();
    await clock.advance(200);
    expect(await Promise.all(waiting)).toHaveLength(40);
    // Whoever is first asks, and is told for how many of those behind there is something.
    expect(store.asked).toBeLessThan(60);
  });

  it('tells who takes a key which one it is, with a fence and a signal', async () => {
    const { replica } = setUp();
    const pool = replica();
    const taken = [await pool.take({ waitMs: 0 }), await pool.take({ waitMs: 0 })];
    expect(taken.map(({ key }) => key)).toEqual(['sk-one', 'sk-two']);
    expect(taken.map(({ member }) => member)).toEqual(fingerprints.slice(0, 2));
    expect(taken[1]?.lease.fence).toBeGreaterThan(taken[0]?.lease.fence ?? 0n);
    expect(taken[0]?.lease.signal.aborted).toBe(false);
  });

  it('serves callers in the order in which they came, of whatever replica', async () => {
    const { clock, replica } = setUp();
    const [first, second] = [replica(), replica()];
    const held = await Promise.all(keys.map(() => first.take({ waitMs: 0 })));
    const order: number[] = [];
    const waiting: Promise<void>[] = [];
    for (let n = 0; n < 4; n += 1) {
      const took = [first, second][n % 2]?.take({ waitMs: 60_000 });
      waiting.push(
        (async () => {
          const taken = await took;
          order.push(n);
          await taken?.lease.release();
        })(),
      );
      await settle();
    }
    await held[1]?.lease.release();
    for (let step = 0; step < 20; step += 1) await clock.advance(500);
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it('renews what is held, and has the keys of the dead back within one lease time', async () => {
    const { clock, replica } = setUp();
    const [dead, living] = [replica(), replica()];
    const held = await Promise.all(keys.map(() => dead.take({ waitMs: 0 })));
    for (let step = 0; step < 10; step += 1) await clock.advance(1_000);
    for (const { lease } of held) lease.assertHeld();
    await expect(living.take({ waitMs: 0 })).rejects.toMatchObject({ code: 'key_pool_busy' });
    expect((await living.inspect()).members.map(({ inUse }) => inUse)).toEqual([1, 1, 1]);
    // As if it had been killed: its watchdog renews nothing more.
    for (const { lease } of held) Object.assign(lease, { renewalTtlMs: () => undefined });
    const next = keys.map(() => living.take({ waitMs: 60_000 }));
    for (let step = 0; step < 8; step += 1) await clock.advance(500);
    expect(new Set((await Promise.all(next)).map(({ key }) => key))).toEqual(new Set(keys));
  });

  it('waits for the earliest return where all rest, and says at once when that is too late', async () => {
    const { clock, replica } = setUp();
    const [one, other] = [replica(), replica()];
    for (const restMs of [30_000, 20_000, 90_000]) {
      const taken = await one.take({ waitMs: 0 });
      await one.rest(taken, restMs);
      await taken.lease.release();
    }
    for (const waitMs of [0, 10_000]) {
      await expect(other.take({ waitMs })).rejects.toMatchObject({
        code: 'key_pool_resting',
        retryAfterSeconds: 20,
      });
    }
    const patient = other.take({ waitMs: 25_000 });
    await settle();
    // Behind somebody who waits, and with less time than that takes.
    await expect(other.take({ waitMs: 5_000 })).rejects.toMatchObject({ code: 'key_pool_resting' });
    for (let step = 0; step < 25; step += 1) await clock.advance(1_000);
    expect((await patient).key).toBe('sk-two');
  });

  it('gives up a wait that has become too long, in the middle of it', async () => {
    const { clock, replica } = setUp();
    const pool = replica();
    const held = await Promise.all(keys.map(() => pool.take({ waitMs: 0 })));
    const waiting = pool.take({ waitMs: 30_000 }).catch((error: unknown) => error);
    await settle();
    for (const taken of held) await pool.rest(taken, 300_000);
    for (const { lease } of held) await lease.release();
    for (let step = 0; step < 4; step += 1) await clock.advance(1_000);
    expect(await waiting).toMatchObject({ code: 'key_pool_resting' });
    expect((await waiting) as { retryAfterSeconds: number }).toMatchObject({
      retryAfterSeconds: expect.closeTo(297, -1),
    });
  });

  it('puts a refused key out of use, tells so once over all replicas, and goes on with the others', async () => {
    const { replica } = setUp({ concurrency: 2 });
    const [one, other] = [replica(), replica()];
    const events: unknown[] = [];
    for (const { events: told } of [one, other]) {
      told.on('quarantined', (event) => events.push(event));
    }
    const taken = await one.take({ waitMs: 0 });
    await one.refuse(taken, '401');
    await other.refuse(taken, '403');
    expect(events).toEqual([{ pool: 'llm', member: taken.member, why: '401' }]);
    const others = await Promise.all([1, 2, 3, 4].map(() => other.take({ waitMs: 0 })));
    expect(others.map(({ key }) => key)).not.toContain(taken.key);
    for (const next of others) await other.refuse(next, '401');
    await expect(one.take({ waitMs: 60_000 })).rejects.toMatchObject({ code: 'key_pool_refused' });
    await one.readmit(taken.member);
    await taken.lease.release();
    expect((await one.take({ waitMs: 0 })).key).toBe(taken.key);
    await expect(one.readmit('nobody')).rejects.toMatchObject({ code: 'key_not_found' });
  });

  it('tells who listens which key was given after which wait, and which one rests; never a key', async () => {
    const { clock, replica } = setUp();
    const pool = replica();
    const told: object[] = [];
    pool.events.on('taken', (event) => told.push(event));
    pool.events.on('rested', (event) => told.push(event));
    const held = await Promise.all(keys.map(() => pool.take({ waitMs: 0 })));
    expect(told).toEqual(fingerprints.map((member) => ({ pool: 'llm', member, waitedMs: 0 })));
    const waiting = pool.take({ waitMs: 60_000 });
    await clock.advance(2_000);
    await held[1]?.lease.release();
    for (let step = 0; step < 20; step += 1) await clock.advance(100);
    const { member } = await waiting;
    expect(told[3]).toMatchObject({ member, waitedMs: expect.any(Number) });
    expect((told[3] as { waitedMs: number }).waitedMs).toBeGreaterThanOrEqual(2_000);
    await pool.rest(await waiting, 30_000);
    expect(told[4]).toEqual({ pool: 'llm', member, forMs: 30_000 });
    expect(JSON.stringify(told)).not.toContain('sk-');
  });

  it('clears nothing by the success of an older call', async () => {
    const { replica } = setUp({ concurrency: 2 });
    const pool = replica();
    const older = await pool.take({ waitMs: 0 });
    for (const _ of keys.slice(1)) await pool.take({ waitMs: 0 });
    const newer = await pool.take({ waitMs: 0 });
    expect(newer.member).toBe(older.member);
    await pool.rest(newer, 60_000);
    await pool.spend(older, 100); // it went well
    await older.lease.release();
    const [state] = (await pool.inspect()).members;
    expect(state?.restsMs).toBe(60_000);
    expect((await pool.take({ waitMs: 0 })).member).not.toBe(older.member);
  });

  it('counts one request a lease', async () => {
    const { replica } = setUp({ requestsPerMinute: 2 });
    const pool = replica();
    const used: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const { key, lease } = await pool.take({ waitMs: 0 });
      used.push(key);
      await lease.release();
    }
    expect(used).toEqual([...keys, ...keys]);
    await expect(pool.take({ waitMs: 0 })).rejects.toMatchObject({ code: 'key_pool_resting' });
  });

  it('lets a caller go who gives up, and leaves nothing behind', async () => {
    const { clock, replica } = setUp();
    const pool = replica();
    const held = await Promise.all(keys.map(() => pool.take({ waitMs: 0 })));
    const controller = new AbortController();
    const waiting = pool.take({ waitMs: 60_000, signal: controller.signal });
    await settle();
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await Promise.all(held.map(({ lease }) => lease.release()));
    await clock.advance(60_000);
    expect(clock.timerCount).toBe(0);
  });

  it('names keys by fingerprints wherever it speaks', () => {
    const pool = setUp().replica();
    expect(pool.redact('Incorrect API key sk-two.')).toBe(
      `Incorrect API key [key ${fingerprints[1]}].`,
    );
    expect(() => new KeyPool({ name: 'llm', keys: ['a', 'a'], store: null as never })).toThrow(
      /each only once/,
    );
  });

  it('grants nothing after its shutdown, and ends what is held', async () => {
    const { clock, replica } = setUp();
    const pool = replica();
    const { lease } = await pool.take({ waitMs: 0 });
    const { signal } = lease;
    const ended = pool.shutdown(0);
    await clock.advance(2_000);
    await ended;
    expect(signal.reason).toMatchObject({ reason: 'SHUTDOWN' });
    await expect(pool.take({ waitMs: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});
