import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LockManager, RedisLockStore } from '../../src/lock/index.js';
import { calls } from '../support/command-calls.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
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

  describe('with a replica that has stopped', () => {
    const limitMs = 300;
    afterEach(() => replica.resume());

    it('refuses within the limit, naming both numbers, and leaves no key', async () => {
      const store = await open(client, { confirmTimeoutMs: limitMs });
      const locks = new LockManager({ store });
      await replica.pause();
      await expect(locks.acquire('doc:1')).rejects.toMatchObject(
        unavailable(/"doc:1" .*0 of 1 wanted replicas .*within 300 ms/),
      );
      expect(await admin.exists('lock:doc:1')).toBe(0);
      await replica.resume();
      const lease = await locks.acquire('doc:1', { waitMs: 10_000 });
      expect(await lease.release()).toBe('released');
    });

    it('delays nobody else: verdicts, releases and grants that more replicas than wanted have', async () => {
      const second = await startReplicaOf(primary.port);
      closers.push(() => second.stop());
      const strict = await open(client, { replicas: 2, confirmTimeoutMs: 3_000 });
      const lenient = await open(client, { replicas: 1 });
      await taken(strict, 'doc:held');
      await replica.pause();
      let refused = false;
      const stuck = strict.tryAcquire('doc:1', 'token', 30_000).catch((error: unknown) => {
        refused = true;
        return error;
      });
      await eventually(async () => (await admin.exists('lock:doc:1')) === 1);
      expect(await strict.tryAcquire('doc:held', 'other', 1_000)).toMatchObject({ status: 'busy' });
      expect(await strict.release('doc:held', 'token', 'process')).toBe('released');
      expect(await lenient.tryAcquire('doc:2', 'token', 1_000)).toMatchObject({
        status: 'granted',
      });
      expect(refused).toBe(false);
      expect(await stuck).toMatchObject(unavailable('1 of 2 wanted'));
      expect(await admin.exists('lock:doc:1')).toBe(0);
    });

    it('refuses many at once in a few rounds', async () => {
      const store = await open(client, { confirmTimeoutMs: limitMs });
      await replica.pause();
      await admin.config('RESETSTAT');
      const names = Array.from({ length: 40 }, (_, n) => `doc:${n}`);
      const all = await Promise.allSettled(
        names.map((name) => store.tryAcquire(name, 'token', 30_000)),
      );
      for (const one of all) expect(one).toMatchObject({ reason: { code: 'LOCK_UNAVAILABLE' } });
      expect(await calls(admin, 'wait')).toBeLessThanOrEqual(4);
      expect(await admin.keys('lock:*')).toEqual([]);
    });

    it('has no verdict on a renewal, and one on a lock that is gone', async () => {
      const store = await open(client, { confirmTimeoutMs: limitMs });
      await taken(store, 'doc:1');
      await replica.pause();
      const renewals = ['doc:1', 'doc:gone'].map((name) => ({
        name,
        token: 'token',
        ttlMs: 9_000,
      }));
      expect(await store.renew(renewals)).toEqual(['unknown', 'not-owner']);
    });

    it('takes sets of locks all or none, too', async () => {
      const store = await open(client, { confirmTimeoutMs: limitMs });
      const locks = ['doc:1', 'doc:2'].map((name) => ({ name, token: `token-${name}` }));
      await replica.pause();
      await expect(store.tryAcquireAll(locks, 10_000)).rejects.toMatchObject(unavailable('0 of 1'));
      expect(await admin.keys('lock:*')).toEqual([]);
    });

    it('voids the round where the connection is lost, and asks the next one for nothing of it', async () => {
      const store = await open(client);
      await replica.pause();
      const stuck = store.tryAcquire('doc:1', 'token', 30_000).catch((error: unknown) => error);
      const grants = await eventually(async () => {
        const blocked = String(await admin.client('LIST')).split('\n');
        return blocked.find((line) => /name=doclock-grants .*cmd=wait/.test(line));
      });
      await admin.client('KILL', 'ID', /\bid=(\d+)/.exec(grants)?.[1] ?? '');
      await replica.resume();
      expect(await stuck).toMatchObject(unavailable('the replicas could not be asked'));
      expect(await admin.exists('lock:doc:1')).toBe(0);
      await eventually(async () => {
        const reply = await store.tryAcquire('doc:1', 'token-2', 30_000);
        return reply.status === 'granted';
      });
    });
  });
});

describeHere('a primary without replicas', () => {
  it('grants nothing and keeps nothing, whatever WAIT 0 would say', async () => {
    const alone = await startRedis();
    closers.push(() => alone.stop());
    const client = await connect(alone.port);
    const store = await open(client, { confirmTimeoutMs: 100 });
    await expect(store.tryAcquire('doc:1', 'token', 30_000)).rejects.toMatchObject(
      unavailable('0 of 1 wanted'),
    );
    expect(await client.keys('lock:*')).toEqual([]);
    // The plain store is the switch: it asks no replica.
    const plain = new RedisLockStore({ client });
    await client.config('RESETSTAT');
    expect(await plain.tryAcquire('doc:1', 'token', 30_000)).toMatchObject({ status: 'granted' });
    expect(await calls(client, 'wait')).toBe(0);
    await plain.close();
  });
});

describeHere('a partition, then a promotion', () => {
  it('makes two holders without confirmation, and one with it', async () => {
    const primary = await startPrimary();
    const link = await FaultProxy.start(primary);
    const replica = await startReplicaOf(link.port);
    const address = await FaultProxy.start(primary);
    closers.push(
      () => primary.stop(),
      () => replica.stop(),
      () => link.close(),
      () => address.close(),
    );
    const client = await connect(address.port);
    const plain = new RedisLockStore({ client });
    closers.push(() => plain.close());
    const confirmed = await open(client, { replicas: 1, confirmTimeoutMs: 500 });
    await taken(confirmed, 'doc:before', 'first');

    link.blackHole();
    expect(await plain.tryAcquire('doc:plain', 'first', 60_000)).toMatchObject({
      status: 'granted',
    });
    await expect(confirmed.tryAcquire('doc:confirmed', 'first', 60_000)).rejects.toMatchObject(
      unavailable('0 of 1 wanted'),
    );
    await primary.kill();
    const promoted = await connect(replica.port);
    await promoted.replicaof('NO', 'ONE');
    address.retarget(replica);
    await eventually(() => client.status === 'ready');

    const second = await eventually(() => plain.tryAcquire('doc:plain', 'second', 60_000));
    expect(second.status).toBe('granted'); // while the first still works
    const renewal = { name: 'doc:plain', token: 'first', ttlMs: 60_000 };
    expect(await plain.renew([renewal])).toEqual(['not-owner']); // which it learns now
    // With confirmation the first was never granted, and what was granted before has survived.
    expect(await promoted.exists('lock:doc:confirmed')).toBe(0);
    expect(await plain.tryAcquire('doc:before', 'second', 60_000)).toMatchObject({
      status: 'busy',
    });
  });
});
