import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { FaultyStore } from '../testing/faulty-store.js';
import { ManualClock } from '../testing/manual-clock.js';
import { LockManager } from './lock-manager.js';

/** Two processes on one store, whose time is a test's; what the first one sends can be made to fail. */
export class TwoEngines {
  readonly clock = new ManualClock();
  readonly memory = new MemoryLockStore(this.clock);
  readonly store = new FaultyStore(this.memory);
  readonly locks = new LockManager({ store: this.store, clock: this.clock, instanceId: 'a' });
  /** The second process. */
  readonly others = new LockManager({ store: this.memory, clock: this.clock, instanceId: 'b' });
}

/** The error of a promise that must reject. */
export async function failure<T extends Error>(promise: Promise<unknown>): Promise<T> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: T) => error,
  );
}

/** A promise that is resolved by hand. */
export function pending(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
