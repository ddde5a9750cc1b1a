import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { startRedis } from '../support/redis.js';
import { startSentinel } from '../support/sentinel.js';

const program = await findRedis();
// In containers the servers could not reach each other by loopback addresses.
const itHere = program.kind === 'program' ? it : it.skip;

itHere(
  'follows a failover that Sentinel decides, with the leases whose keys the replica has',
  async () => {
    const master = await startRedis();
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
    const sentinel = await startSentinel(master.port);
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
      const lease = await locks.acquire('doc:1', { ttlMs: 20_000 });
      await eventually(async () => (await replicaAdmin.exists('lock:doc:1')) === 1);
      await master.kill();

      const fresh = await locks.acquire('doc:2', { waitMs: 20_000 });
      expect(await replicaAdmin.exists('lock:doc:2')).toBe(1);
      await eventually(() => lease.remainingMs > 18_000); // renewed on the new master
      expect(await lease.release()).toBe('released');
      expect(await fresh.release()).toBe('released');
    } finally {
      await store.close();
      for (const one of [client, watcher, replicaAdmin]) one.disconnect();
      for (const one of [sentinel, replica, master]) await one.stop();
    }
  },
  60_000,
);
