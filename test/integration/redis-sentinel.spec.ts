import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { expectHeldAndRelease } from '../support/lease-checks.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { startRedis } from '../support/redis.js';
import { startSentinel } from '../support/sentinel.js';

const program = await findRedis();
// In containers the servers could not reach each other by loopback addresses.
const itHere = program.kind === 'program' ? it : it.skip;

itHere(
  'follows a failover that Sentinel decides: new grants within 5 s, and every held lease is renewed or told',
  async () => {
    const master = await startRedis();
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
    const sentinel = await startSentinel(master.port);
    const ttlMs = 60_000;
    const replicaAdmin = new Redis(replica.port, replica.host);
    const watcher = new Redis(sentinel.port, '127.0.0.1');
    const client = new Redis({
      ...redisLockClientOptions,
      sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
      name: 'mymaster',
      sentinelRetryStrategy: () => 200,
    });
    client.on('error', () => undefined); // the master goes away on purpose
    const store = new RedisLockStore({ client });
    const locks = new LockManager({ store });
    try {
      await eventually(() => client.status === 'ready');
      await eventually(async () => {
        const replicas = await watcher.call('SENTINEL', 'REPLICAS', 'mymaster');
        return Array.isArray(replicas) && replicas.length === 1;
      });
      const names = ['doc:1', 'doc:2', 'doc:3'];
      const kept = await Promise.all(names.map((name) => locks.acquire(name, { ttlMs })));
      await eventually(async () => (await replicaAdmin.exists('lock:doc:3')) === 1);
      await eventually(() => kept.every(({ remainingMs }) => remainingMs < ttlMs - 2_000));
      // It hears of no grant any more, and goes on answering Sentinel, which may promote it.
      await replicaAdmin.replicaof('127.0.0.1', 1);
      const lost = await locks.acquire('doc:lost', { ttlMs });
      const killedAt = performance.now();
      await master.kill();
      const fresh = await locks.acquire('doc:fresh', { waitMs: 20_000 });
      expect(performance.now() - killedAt).toBeLessThan(5_000);
      expect(await replicaAdmin.exists('lock:doc:fresh')).toBe(1);
      // By the sweep, long before the watchdog is due: a third of the TTL after the grant.
      await eventually(() => kept.every(({ remainingMs }) => remainingMs > ttlMs - 2_000), {
        timeoutMs: 5_000,
      });
      await eventually(() => lost.signal.aborted, { timeoutMs: 5_000 });
      expect(lost.signal.reason).toMatchObject({ reason: 'NOT_OWNER' });
      for (const lease of [...kept, fresh]) await expectHeldAndRelease(locks, lease);
    } finally {
      await store.close();
      for (const one of [client, watcher, replicaAdmin]) one.disconnect();
      for (const one of [sentinel, replica, master]) await one.stop();
    }
  },
  60_000,
);
