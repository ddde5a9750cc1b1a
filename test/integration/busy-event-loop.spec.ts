import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LockManager } from '../../src/lock/index.js';
import { type RedisLocks, startRedisLocks } from '../support/redis-locks.js';

let redis: RedisLocks;
let locks: LockManager;

beforeAll(async () => {
  redis = await startRedisLocks();
  locks = new LockManager({ store: redis.store });
  await (await locks.acquire('doc:warm')).release();
});

afterAll(() => redis.stop());

/** Sends the command, and keeps the event loop busy for longer than a command may take. */
async function readLate<T>(command: () => Promise<T>): Promise<T> {
  const answer = command();
  await new Promise((resolve) => setImmediate(resolve)); // it has left
  const end = performance.now() + locks.defaults.commandTimeoutMs + 50;
  while (performance.now() < end);
  return answer;
}

describe('an answer that is in the socket when its time is over', () => {
  it('counts for an acquisition', async () => {
    const lease = await readLate(() => locks.acquire('doc:1'));
    lease.assertHeld();
    expect(await lease.release()).toBe('released');
  });

  it('counts for a release', async () => {
    const lease = await locks.acquire('doc:2');
    expect(await readLate(() => lease.release())).toBe('released');
  });

  it('counts for a look at a lock', async () => {
    expect(await readLate(() => locks.inspect('doc:3'))).toBeNull();
  });
});
