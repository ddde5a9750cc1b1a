// A process of its own that takes locks on a real Redis: `node lock-process-main.mjs TASK PORT NAME TTL_MS`.
// Speaks one JSON object a line. Uses the built lock module, as another team's process would.
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../dist/lock/index.js';

const [task, port, name, ttlMs] = process.argv.slice(2);
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
process.on('unhandledRejection', (error) =>
  say({ event: 'unhandledRejection', error: String(error) }),
);

const client = new Redis(Number(port), '127.0.0.1', redisLockClientOptions);
client.on('error', () => undefined); // the server goes away on purpose
await new Promise((resolve) => client.once('ready', resolve));
const locks = new LockManager({
  store: new RedisLockStore({ client }),
  instanceId: `process-${process.pid}`,
  defaults: { ttlMs: Number(ttlMs) },
});
locks.events.on('lost', ({ reason }) => say({ event: 'lost', reason }));

const tasks = {
  /** Holds until it is killed. */
  async hold() {
    const lease = await locks.acquire(name);
    say({ event: 'held', fence: String(lease.fence) });
    process.stdin.resume();
  },
  /** Holds one of two permits until it is killed. */
  async 'hold-permit'() {
    const lease = await locks.semaphore(name, 2).acquire();
    say({ event: 'held', fence: String(lease.fence) });
    process.stdin.resume();
  },
  /** Waits in line for as long as it lives. */
  async wait() {
    say({ event: 'waiting' });
    const lease = await locks.acquire(name, { waitMs: 600_000 });
    say({ event: 'held', fence: String(lease.fence) });
    process.stdin.resume();
  },
  /** Takes a lock and has nothing else to do: the watchdog alone must not keep it alive. */
  async leave() {
    const lease = await locks.acquire(name);
    say({ event: 'held', fence: String(lease.fence) });
    client.disconnect();
  },
  /** Blocks its event loop for longer than the TTL, then looks. */
  async block() {
    const lease = await locks.acquire(name);
    say({ event: 'held', fence: String(lease.fence) });
    const end = performance.now() + Number(ttlMs) * 2;
    while (performance.now() < end);
    try {
      lease.assertHeld();
      say({ event: 'still held' });
    } catch (error) {
      say({ event: 'refused', reason: error.reason });
    }
    process.exit();
  },
  /** Adds 1 to an unprotected counter, fifty times, under the lock, as soon as somebody sets `go`. */
  async count() {
    say({ event: 'ready' });
    while (!(await client.get('go'))) await new Promise((resolve) => setTimeout(resolve, 5));
    for (let round = 0; round < 50; round += 1) {
      await locks.run(name, { waitMs: 60_000 }, async (lease) => {
        const value = Number(await client.get('counter'));
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
        lease.assertHeld();
        await client.set('counter', value + 1);
        await client.rpush('fences', String(lease.fence));
        await client.rpush('holders', String(process.pid));
      });
    }
    say({ event: 'counted' });
    process.exit();
  },
};
await tasks[task]();
