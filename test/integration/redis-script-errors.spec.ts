import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, startRedis } from '../support/redis.js';

let server: RedisServer;
let admin: Redis;
const opened: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
});

beforeEach(() => admin.flushall());

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

/** The store of a user who may do everything but this. */
async function storeWithout(...rights: string[]): Promise<RedisLockStore> {
  await admin.call('ACL', 'SETUSER', 'u', 'reset', 'on', '>p', '~*', '&*', '+@all', ...rights);
  const user = { username: 'u', password: 'p' };
  const client = new Redis(server.port, server.host, { ...redisLockClientOptions, ...user });
  const store = new RedisLockStore({ client });
  opened.push(
    () => client.disconnect(),
    () => store.close(),
  );
  await eventually(() => client.status === 'ready');
  return store;
}

describe('a script that errs after it has written', () => {
  const mayHaveRun = { code: 'LOCK_UNAVAILABLE', mayHaveRun: true };

  it('may have taken the lock', async () => {
    const store = await storeWithout('-time');
    await expect(store.tryAcquire('doc:1', 'token', 30_000)).rejects.toMatchObject(mayHaveRun);
    expect(await admin.get('lock:doc:1')).toBe('token');
  });

  it('may have taken some of several locks', async () => {
    const store = await storeWithout('-pttl'); // which only a lock that it has already needs
    await store.tryAcquire('doc:2', 'token', 30_000);
    const locks = ['doc:1', 'doc:2'].map((name) => ({ name, token: 'token' }));
    await expect(store.tryAcquireAll(locks, 30_000)).rejects.toMatchObject(mayHaveRun);
    expect(await admin.get('lock:doc:1')).toBe('token');
  });

  it('may have taken a permit', async () => {
    const store = await storeWithout('-hset');
    const permits = store.semaphores(1);
    await expect(permits.tryAcquire('api', 'token', 30_000)).rejects.toMatchObject(mayHaveRun);
    expect(await admin.zcard('{lock:api}:permits')).toBe(1);
  });

  it('is undone', async () => {
    const locks = new LockManager({ store: await storeWithout('-time') });
    const failed = locks.acquire('doc:1', { ttlMs: 30_000 });
    await expect(failed).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await eventually(async () => (await admin.exists('lock:doc:1')) === 0);
    await locks.close();
  });
});

describe('tries that share a script', () => {
  it('are granted where another one of them errs', async () => {
    const store = await storeWithout('-zrem'); // which only the answer "busy" needs
    await admin.set('lock:held', 'foreign', 'PX', 60_000);
    await admin.set('{lock:held}:fence', 5);
    const tries = await Promise.allSettled(
      ['free', 'held', 'free too'].map((name) => store.tryAcquire(name, 'token', 30_000)),
    );
    expect(tries).toMatchObject([
      { value: { status: 'granted' } },
      { reason: { code: 'LOCK_UNAVAILABLE' } },
      { value: { status: 'granted' } },
    ]);
    expect(await admin.get('lock:held')).toBe('foreign');
  });
});
