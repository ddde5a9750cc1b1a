import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { resolveConfig } from '../config/index.js';
import { Drain } from './drain.js';

describe('the drain', () => {
  it('tells first, then waits for what is tracked, also when that adds more or fails', async () => {
    const drain = new Drain(resolveConfig({}));
    const order: string[] = [];
    let finish: () => void = () => {};
    const first = new Promise<void>((resolve) => (finish = resolve)).then(() => {
      order.push('first');
      void drain.track(Promise.resolve().then(() => order.push('second')));
    });
    void drain.track(first);
    const failed = drain.track(Promise.reject(new Error('a failure of the work')));
    await expect(failed).rejects.toThrow('a failure of the work');
    drain.signal.addEventListener('abort', () => order.push('told'));
    const drained = drain.run().then(() => order.push('drained'));
    finish();
    await drained;
    expect(order).toEqual(['told', 'first', 'second', 'drained']);
  });

  it('says that it is leaving before it refuses anything', async () => {
    const drain = new Drain(resolveConfig({ SHUTDOWN_DELAY_MS: '40' }));
    expect(drain.isLeaving).toBe(false);
    const startedAt = performance.now();
    const drained = drain.run();
    expect(drain.isLeaving).toBe(true);
    expect(drain.signal.aborted).toBe(false);
    await drained;
    expect(drain.signal.aborted).toBe(true);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(39);
  });

  it('gives up after the grace', async () => {
    Logger.overrideLogger(false);
    const drain = new Drain(resolveConfig({ SHUTDOWN_GRACE_MS: '30' }));
    void drain.track(new Promise(() => {}));
    const startedAt = performance.now();
    await drain.run();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(29);
  });
});
