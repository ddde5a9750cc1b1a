import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import {
  LockManager,
  redisLockClientOptions,
  RedisLockStore,
  RedisWaitLockStore,
  type RedisWaitLockStoreOptions,
} from '../../src/lock/index.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { realTime } from '../support/real-time.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { canReplicate, startPrimary, startReplicaOf } from '../support/replication.js';

const describeHere = (await canReplicate()) ? describe : describe.skip;
/** For tests in which nothing is refused: a busy machine must not look like a silent replica. */
const PATIENT_MS = 5_000;

const closers: (() => unknown)[] = [];

async function connect(port: number, options: RedisOptions = {}): Promise<Redis> {
  // The driver leaves a timer of that length behind when it disconnects after an outage.
  const given = { ...redisLockClientOptions, disconnectTimeout: 100, ...options };
  const client = new Redis(port, '127.0.0.1', given);
  client.on('error', () => undefined); // tests end servers on purpose
  closers.push(() => client.disconnect());
  await eventually(() => client.status === 'ready');
  return client;
}

async function open(
  client: Redis,
  options: Omit<RedisWaitLockStoreOptions, 'client'> = {},
): Promise<RedisWaitLockStore> {
  const store = new RedisWaitLockStore({ client, confirmTimeoutMs: PATIENT_MS, ...options });
  closers.push(() => store.close());
  await store.start();
  return store;
}

async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

async function calls(admin: Redis, command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

/** Takes a lock; with a short limit a busy machine may need more than one try. */
async function taken(store: RedisWaitLockStore, name: string, token = 'token'): Promise<void> {
  await eventually(async () => {
    const { status } = await store.tryAcquire(name, token, 60_000);
    return status === 'granted';
  });
}

const unavailable = (message: RegExp | string) => ({
  code: 'LOCK_UNAVAILABLE',
  message: expect.stringMatching(message),
});

describeHere('RedisWaitLockStore', () => {
  let primary: RedisServer;
  let replica: RedisServer;
  let admin: Redis;
  let client: Redis;

  beforeAll(async () => {
    primary = await startPrimary();
    replica = await startReplicaOf(primary.port);
    admin = new Redis(primary.port, primary.host);
  });

  afterAll(async () => {
    admin?.disconnect();
    for (const server of [replica, primary]) await server?.stop();
  });

  beforeEach(async () => {
    await admin.flushall();
    client = await connect(primary.port);
  });

  afterEach(closeAll);

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

describeHere('a primary without replicas', () => {
  afterEach(closeAll);

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
  afterEach(closeAll);

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

describeHere('a server that cannot confirm is found out at start', () => {
  afterEach(closeAll);

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
