import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from '@jest/globals';
import { LockManager, MemoryLockStore } from '../../src/lock/index.js';

/** A worker thread that looks at the lease with the built module each time it is asked. */
const source = `
  import { parentPort, workerData } from 'node:worker_threads';
  import { assertHeld } from '${new URL('../../dist/lock/index.js', import.meta.url).href}';
  parentPort.on('message', () => {
    try {
      assertHeld(workerData);
      parentPort.postMessage('held');
    } catch (error) {
      parentPort.postMessage(error.reason);
    }
  });
`;

describe('a worker thread', () => {
  it('sees a lease end, by its deadline while the main loop is blocked, and by its release', async () => {
    const locks = new LockManager({ store: new MemoryLockStore() });
    const lease = await locks.acquire('doc:1', { ttlMs: 60_000 });
    const module = `data:text/javascript,${encodeURIComponent(source)}`;
    const worker = new Worker(new URL(module), { workerData: lease.shared });
    const look = async () => {
      const answer = once(worker, 'message');
      worker.postMessage('look');
      return (await answer)[0] as string;
    };
    expect(await look()).toBe('held');
    await lease.release();
    expect(await look()).toBe('RELEASED');
    await worker.terminate();

    const short = await locks.acquire('doc:2', { ttlMs: 1_000 });
    const second = new Worker(new URL(module), { workerData: short.shared });
    await once(second, 'online');
    const end = performance.now() + 1_050;
    while (performance.now() < end); // no timer of the main loop can tell anybody
    const answered = once(second, 'message');
    second.postMessage('look');
    expect((await answered)[0]).toBe('EXPIRED');
    await second.terminate();
  });
});
