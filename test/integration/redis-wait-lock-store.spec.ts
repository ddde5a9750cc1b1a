import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { RedisWaitLockStore } from '../../src/lock/index.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { calls } from '../support/command-calls.js';
import { eventually } from '../support/eventually.js';
import { realTime } from '../support/real-time.js';
import { confirmedStores, replicatedPair, taken, unavailable } from '../support/redis-wait.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { canReplicate, startPrimary, startReplicaOf } from '../support/replication.js';

const describeHere = (await canReplicate()) ? describe : describe.skip;
const stores = confirmedStores();
const { closers, connect, open } = stores;

describeHere('RedisWaitLockStore', () => {
  const pair = replicatedPair(stores);
  let primary: RedisServer;
  let replica: RedisServer;
  let admin: Redis;
  let client: Redis;

  beforeEach(() => {
    ({ primary, replica, admin, client } = pair);
  });

  describe('keeps the contract', () => {
    let store: RedisWaitLockStore;
    beforeEach(async () => {
      store = await open(client);
    });
    it.each(lockStoreContract)('$promise', ({ verify }) => verify({ store, elapse: realTime }));
  });

  describe('with a replica that keeps up', () => {
    it('grants what the replica has, for a second round trip', async () => {
      const store = await open(client);
      const replicaAdmin = await connect(replica.port);
      await store.tryAcquire('warm:up', 'token', 30_000);
      await admin.config('RESETSTAT');
      expect(await store.tryAcquire('doc:1', 'token', 30_000)).toMatchObject({ status: 'granted' });
      expect(await replicaAdmin.get('lock:doc:1')).toBe('token');
      // ROLE goes with the script.
      for (const command of ['evalsha', 'role', 'wait'])
        expect(await calls(admin, command)).toBe(1);
      expect(await store.tryAcquire('doc:1', 'other', 30_000)).toMatchObject({ status: 'busy' });
      expect(await store.release('doc:1', 'token', 'process')).toBe('released');
      // A verdict that is no grant, and a release, need none.
      expect(await calls(admin, 'wait')).toBe(1);
    });

    it('confirms many grants and renewals with one WAIT', async () => {
      const store = await open(client, { replicas: 1 });
      await admin.config('RESETSTAT');
      const names = Array.from({ length: 60 }, (_, n) => `doc:${n}`);
      const all = await Promise.all(names.map((name) => store.tryAcquire(name, 'token', 30_000)));
      expect(all.filter(({ status }) => status === 'granted')).toHaveLength(60);
      expect(await calls(admin, 'wait')).toBeLessThanOrEqual(2);
      expect(await calls(admin, 'role')).toBe(0);
      const renewals = names.map((name) => ({ name, token: 'token', ttlMs: 40_000 }));
      expect(new Set(await store.renew(renewals))).toEqual(new Set(['renewed']));
      expect(await calls(admin, 'wait')).toBeLessThanOrEqual(3);
    });
  });

  describe('thresholds', () => {
    it('count what was wanted: one of two is enough for 1, too little for all that are connected', async () => {
      const second = await startReplicaOf(primary.port);
      closers.push(() => second.stop());
      const [one, all] = [
        await open(client, { replicas: 1 }),
        await open(client, { confirmTimeoutMs: 300 }),
      ];
      await taken(all, 'doc:0');
      await second.pause();
      expect(await one.tryAcquire('doc:1', 'token', 1_000)).toMatchObject({ status: 'granted' });
      await expect(all.tryAcquire('doc:2', 'token', 1_000)).rejects.toMatchObject(
        unavailable('1 of 2 wanted'),
      );
    });

    it.each([
      [{ replicas: 0 }, 'replicas: 0'],
      [{ replicas: 1.5 }, 'replicas: 1.5'],
      [{ confirmTimeoutMs: 0 }, 'confirmTimeoutMs: 0'], // WAIT would never end
    ])('%j are refused: they confirm nothing', (options, message) => {
      expect(() => new RedisWaitLockStore({ client, ...options })).toThrow(message);
    });
  });
});

describeHere('a server that cannot confirm is found out at start', () => {
  it.each(['wait', 'role'])('a user without the right to %s', async (command) => {
    const server = await startRedis();
    closers.push(() => server.stop());
    const admin = await connect(server.port);
    await admin.call('ACL', 'SETUSER', 'u', 'on', 'nopass', '~*', '&*', '+@all', `-${command}`);
    const client = await connect(server.port, { username: 'u', password: 'x' });
    await expect(open(client)).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(new RegExp(`'?${command}'?.*Point it at a primary`)),
    });
    const fixed = { replicas: 1 }; // ROLE is for the default only
    if (command === 'role') await open(client, fixed);
    else await expect(open(client, fixed)).rejects.toThrow('use the redis store');
  });

  it('one without WAIT', async () => {
    const server = await startRedis({ args: ['--rename-command', 'WAIT', ''] });
    closers.push(() => server.stop());
    await expect(open(await connect(server.port))).rejects.toThrow(
      /unknown command.*use the redis/,
    );
  });

  it('a replica', async () => {
    const primary = await startPrimary();
    const replica = await startReplicaOf(primary.port);
    closers.push(
      () => primary.stop(),
      () => replica.stop(),
    );
    await expect(open(await connect(replica.port))).rejects.toThrow(/Point it at a primary/);
  });

  it('but not one that is away: it may come', async () => {
    const server = await startRedis();
    const client = await connect(server.port);
    await server.kill();
    await eventually(() => client.status !== 'ready');
    const store = await open(client);
    await expect(store.tryAcquire('doc:1', 'token', 1_000)).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      mayHaveRun: false,
    });
    await server.stop();
  });
});
