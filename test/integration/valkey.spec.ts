import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { semaphoreContract } from '../../src/lock/testing/semaphore-contract.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { eventually } from '../support/eventually.js';
import { realTime } from '../support/real-time.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { findValkey } from '../support/valkey-program.js';

const valkey = await findValkey();
if (typeof valkey === 'string') process.stderr.write(`Skipping Valkey: ${valkey}\n`);
const describeHere = typeof valkey === 'string' ? describe.skip : describe;

describeHere('RedisLockStore on Valkey', () => {
  let server: RedisServer;
  let client: Redis;
  let store: RedisLockStore;

  beforeAll(async () => {
    if (typeof valkey === 'string') return;
    server = await startRedis({ program: valkey.path });
    client = new Redis(server.port, server.host, { ...redisLockClientOptions });
    store = new RedisLockStore({ client });
    await eventually(() => client.status === 'ready');
  });

  afterAll(async () => {
    await store?.close();
    client?.disconnect();
    await server?.stop();
    if (typeof valkey !== 'string') await valkey.remove();
  });

  beforeEach(() => client.flushall());

  it('passes the check at start', async () => {
    expect(await client.info('server')).toContain('valkey');
    await expect(new LockManager({ store }).start()).resolves.toBeUndefined();
  });

  it.each(lockStoreContract)('$promise', ({ verify }) => verify({ store, elapse: realTime }));

  it.each(semaphoreContract)('semaphores: $promise', ({ verify }) =>
    verify({ semaphores: (permits) => store.semaphores(permits), elapse: realTime }),
  );
});
