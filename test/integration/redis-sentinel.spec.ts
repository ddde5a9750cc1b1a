import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { findRedis } from '../support/redis-program.js';
import { startRedis } from '../support/redis.js';

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

async function startSentinel(masterPort: number) {
  const directory = await mkdtemp(join(tmpdir(), 'sentinel-'));
  const config = join(directory, 'sentinel.conf');
  const port = await freePort();
  await writeFile(
    config,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor mymaster 127.0.0.1 ${masterPort} 1`,
      'sentinel down-after-milliseconds mymaster 500',
      'sentinel failover-timeout mymaster 3000',
      '',
    ].join('\n'),
  );
  if (program.kind !== 'program') throw new Error('needs redis-server as a program');
  const child = spawn(program.path, [config, '--sentinel'], { stdio: 'ignore' });
  await once(child, 'spawn');
  return {
    port,
    async stop() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
