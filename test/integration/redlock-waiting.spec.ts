import { describe, expect, it } from '@jest/globals';
import { LockManager } from '../../src/lock/index.js';
import { calls } from '../support/command-calls.js';
import { eventually } from '../support/eventually.js';
import { MINUTE_MS, redlockNodes } from '../support/redlock.js';

const CROWD = 30;
const { admins, open } = redlockNodes();

/** How many processes stand in the order that one of the nodes keeps. */
async function standing(name: string): Promise<number> {
  const counts = await Promise.all(admins.map((admin) => admin.zcard(`{lock:${name}}:order`)));
  return Math.max(...counts);
}

describe('a crowd that waits for a lock of Redlock', () => {
  it('is served in the order in which it came, and asks the nodes one at a time', async () => {
    const store = await open();
    const holder = new LockManager({ store });
    const lease = await holder.acquire('hot', { ttlMs: MINUTE_MS });
    const served: number[] = [];
    const waiting = [];
    for (let index = 0; index < CROWD; index += 1) {
      const engine = new LockManager({ store });
      const options = { ttlMs: MINUTE_MS, waitMs: MINUTE_MS };
      waiting.push(engine.run('hot', options, () => void served.push(index)));
      await eventually(async () => (await standing('hot')) === index + 1);
    }
    for (const admin of admins) await admin.config('RESETSTAT');
    await lease.release();
    await Promise.all(waiting);
    expect(served).toEqual(Array.from({ length: CROWD }, (_, index) => index));
    // Five would do for a hand-over: two scripts for the grant, one for its end and two that wake and stand. A crowd
    // that woke as one would need hundreds for each.
    const asked = await Promise.all(admins.map((admin) => calls(admin, 'evalsha')));
    expect(Math.max(...asked)).toBeLessThan(CROWD * 15);
  }, 60_000);

  it('lets no newcomer pass, and goes on when the one whose turn it is has died', async () => {
    const store = await open();
    const [holder, next] = [new LockManager({ store }), new LockManager({ store })];
    const lease = await holder.acquire('hot', { ttlMs: MINUTE_MS });
    const dead = { process: 'dead', ticket: undefined };
    await store.tryAcquire('hot', 'dead-token', MINUTE_MS, dead);
    const waiting = next.acquire('hot', { ttlMs: MINUTE_MS, waitMs: MINUTE_MS });
    await eventually(async () => (await standing('hot')) === 2);
    await lease.release();
    expect(await holder.tryAcquire('hot')).toBeNull();
    const granted = await waiting;
    granted.assertHeld();
    await granted.release();
  }, 60_000);

  it('goes on when the node that keeps its order is lost', async () => {
    const store = await open();
    const [holder, next] = [new LockManager({ store }), new LockManager({ store })];
    const lease = await holder.acquire('hot', { ttlMs: MINUTE_MS });
    const waiting = next.acquire('hot', { ttlMs: MINUTE_MS, waitMs: MINUTE_MS });
    await eventually(async () => (await standing('hot')) === 1);
    const counts = await Promise.all(admins.map((admin) => admin.zcard('{lock:hot}:order')));
    const keeper = admins[counts.indexOf(1)];
    await keeper?.call('CLIENT', 'PAUSE', '4000', 'ALL');
    await lease.release();
    const granted = await waiting;
    granted.assertHeld();
    await granted.release();
  }, 60_000);
});
