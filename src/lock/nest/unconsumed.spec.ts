import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Readable } from 'node:stream';
import { interval, type Observable } from 'rxjs';
import { type LockLostError, LockManager, MemoryLockStore } from '../index.js';
import { coverResult } from './cover-result.js';

let locks: LockManager;

beforeEach(() => {
  jest.useFakeTimers();
  locks = new LockManager({ store: new MemoryLockStore() });
});

afterEach(async () => {
  jest.useRealTimers();
  await locks.shutdown(0);
  await locks.close();
});

const isFree = async () => (await locks.inspect('doc:1')) === null;

async function* parts(): AsyncGenerator<string> {
  yield 'first';
  await new Promise(() => undefined); // a step that never ends
}

const results: [string, () => unknown][] = [
  ['an Observable', () => interval(50)],
  ['a stream', () => Readable.from(['a', 'b'])],
  ['a web stream', () => Readable.toWeb(Readable.from(['a', 'b']))],
  ['an async generator', () => parts()],
];

describe('the result of a locked method that nobody consumes', () => {
  it.each(results)('is given up after 10 s, and the lock with it: %s', async (_what, result) => {
    await coverResult(result(), await locks.hold('doc:1'));
    await jest.advanceTimersByTimeAsync(9_000);
    expect(await isFree()).toBe(false);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await isFree()).toBe(true);
  });

  it('keeps the lock once somebody has begun, however slowly', async () => {
    const covered = (await coverResult(
      interval(50),
      await locks.hold('doc:1'),
    )) as Observable<number>;
    const subscription = covered.subscribe();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(await isFree()).toBe(false);
    subscription.unsubscribe();
    await jest.advanceTimersByTimeAsync(10);
    expect(await isFree()).toBe(true);
  });
});

describe('a generator that is stuck in a step when its lease is lost', () => {
  it('does not keep its consumer: the step fails a second later', async () => {
    const hold = await locks.hold('doc:1', { maxHoldMs: 5_000 });
    const covered = (await coverResult(parts(), hold)) as AsyncGenerator<string>;
    expect(await covered.next()).toEqual({ done: false, value: 'first' });
    const told = covered.next().catch((error: LockLostError) => error.reason);
    await jest.advanceTimersByTimeAsync(7_000);
    expect(await told).toBe('MAX_HOLD');
    expect(await covered.return('left')).toEqual({ done: true, value: 'left' });
  });
});
