import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { LockManager, redisLockClusterOptions, RedisLockStore } from '../../src/lock/index.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { eventually } from '../support/eventually.js';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.js';

// In containers the servers could not reach each other by loopback addresses.
const describeHere = (await findRedis()).kind === 'program' ? describe : describe.skip;

describeHere('the start of a lock store on a cluster', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster();
  }, 60_000);

  afterAll(() => cluster?.stop());

  /** Of a client that has not connected yet. */
  function open(lazyConnect: boolean) {
    const [node] = cluster.nodes;
    const at = { host: node?.server.host ?? '', port: node?.server.port ?? 0 };
    const client = new Cluster([at], { ...redisLockClusterOptions, lazyConnect });
    client.on('error', () => 'it has only just begun');
    const locks = new LockManager({ store: new RedisLockStore({ client }) });
    const close = async () => {
      await locks.close();
      client.disconnect();
    };
    return { client, locks, close };
  }

  async function subscribers(): Promise<number> {
    const lists = await Promise.all(cluster.nodes.map(({ admin }) => admin.client('LIST')));
    return String(lists).split('name=doclock-subscriber').length - 1;
  }

  it.each([false, true])(
    'waits for every master, so that the first locks are granted (lazyConnect %s)',
    async (lazyConnect) => {
      const { client, locks, close } = open(lazyConnect);
      await locks.start();
      expect(client.nodes('master').map(({ status }) => status)).toEqual([
        'ready',
        'ready',
        'ready',
      ]);
      const names = Array.from({ length: 30 }, (_, index) => `boot:${lazyConnect}:${index}`);
      const leases = await Promise.all(names.map((name) => locks.acquire(name)));
      await Promise.all(leases.map((lease) => lease.release()));
      await close();
    },
  );

  it('opens one subscriber where several engines begin before it is connected', async () => {
    await eventually(async () => (await subscribers()) === 0);
    const { locks, close } = open(true);
    const early = locks.acquire('doc:1').catch(() => 'there was no connection yet');
    const earlier = locks
      .semaphore('api', 2)
      .acquire()
      .catch(() => 'nor here');
    await locks.start();
    await Promise.all([early, earlier]);
    await eventually(async () => (await subscribers()) > 0);
    const lease = await locks.semaphore('api', 3).acquire();
    await lease.release();
    expect(await subscribers()).toBe(1);
    await close();
    await eventually(async () => (await subscribers()) === 0);
  });
});
