import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ThreadPool } from '../../src/documents/pipeline/threads/thread-pool.js';

const file = new URL('../support/faulty.worker.mjs', import.meta.url);
const pools: ThreadPool<string, number>[] = [];
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())));

function newPool(maxThreads: number, at = file): ThreadPool<string, number> {
  const pool = new ThreadPool<string, number>({
    file: at,
    maxThreads,
    idleMs: 60_000,
    maxHeapMb: 64,
  });
  pools.push(pool);
  return pool;
}

function runOn(pool: ThreadPool<string, number>, task: string, killSignal?: AbortSignal) {
  return pool.run(() => ({ task }), { owner: {}, ...(killSignal && { killSignal }) });
}

describe('ThreadPool', () => {
  it.each(['exit', 'throw', 'heap'])(
    'survives a task that ends in "%s", and so do the tasks behind it',
    async (fault) => {
      const pool = newPool(1);
      const outcomes = await Promise.allSettled(
        [fault, 'fine', fault, 'fine', 'fine'].map((task) => runOn(pool, task)),
      );
      expect(outcomes.map(({ status }) => status)).toEqual([
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
        'fulfilled',
      ]);
    },
  );

  it('kills the thread of a task that hangs, and runs what waits behind it on a new one', async () => {
    const pool = newPool(1);
    const before = await runOn(pool, 'fine');
    const stop = new AbortController();
    const hung = runOn(pool, 'hang', stop.signal);
    const behind = runOn(pool, 'fine');
    const reason = new Error('enough');
    setImmediate(() => stop.abort(reason));
    await expect(hung).rejects.toBe(reason);
    expect(await behind).not.toBe(before);
  });

  it('keeps its thread from task to task, and never has more than it may', async () => {
    const pool = newPool(2);
    const ids = await Promise.all(Array.from({ length: 20 }, () => runOn(pool, 'fine')));
    expect(new Set(ids).size).toBeLessThanOrEqual(2);
    expect(pool.threadIds.length).toBeLessThanOrEqual(2);
  });

  it('rejects every task when the worker cannot be loaded', async () => {
    const pool = newPool(2, new URL('../support/missing.worker.mjs', import.meta.url));
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((task) => runOn(pool, task)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it.each([
    ['is rejected where it was the only one', 1, 'rejected'],
    ['goes to another one', 2, 'fulfilled'],
  ])('the task of a thread that exits while it starts %s', async (_what, maxThreads, status) => {
    const pool = newPool(maxThreads);
    const start = jest.spyOn(Worker.prototype, 'postMessage');
    start.mockImplementationOnce(function (this: Worker) {
      void this.terminate(); // it exits, and throws nothing
    });
    const outcomes = await Promise.allSettled([runOn(pool, 'fine'), runOn(pool, 'fine')]);
    start.mockRestore();
    expect(outcomes).toMatchObject([{ status }, { status: 'fulfilled' }]);
  });

  it('packs a parcel only when a thread is free', async () => {
    const pool = newPool(1);
    const packed: number[] = [];
    const stop = new AbortController();
    const tasks = ['hang', 'fine'].map((task, index) =>
      pool.run(
        () => {
          packed.push(index);
          return { task };
        },
        { owner: {}, ...(index === 0 && { killSignal: stop.signal }) },
      ),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(packed).toEqual([0]);
    stop.abort(new Error('enough'));
    await Promise.allSettled(tasks);
    expect(packed).toEqual([0, 1]);
  });

  it('leaves no listener on a signal that outlives its tasks', async () => {
    const pool = newPool(1);
    const signal = new AbortController().signal;
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    for (let i = 0; i < 3; i += 1) await runOn(pool, 'fine', signal);
    expect(listeners).toBe(0);
  });
});
