import { resolveLockOptions } from '../core/lock-options.js';
import { LockOptionsError } from '../core/lock.errors.js';
import { DEFAULT_LOCK_INSTANCE } from './lock.tokens.js';

/** Options of `@WithLock`. What is not given comes from the instance's settings. */
export interface WithLockOptions {
  /** The life of the key, in ms; 100 to 86 400 000. */
  readonly ttlMs?: number | undefined;
  /** How long to wait for a busy lock, in ms; 0 is exactly one try. */
  readonly waitMs?: number | undefined;
  /** The longest hold, in ms, or Infinity. */
  readonly maxHoldMs?: number | undefined;
  /**
   * Share the lease of the same name that the caller holds already, instead of failing.
   * @default false
   */
  readonly reentrant?: boolean | undefined;
  /**
   * The `name` of the LockModule instance.
   * @default 'default'
   */
  readonly instance?: string | undefined;
  /**
   * `skip`: where the lock is busy the call does nothing and gives undefined, with a `skipped` event.
   * For scheduled methods of which one replica's run is enough.
   * @default 'throw'
   */
  readonly onBusy?: 'throw' | 'skip' | undefined;
  /**
   * Gives the signal of a call, of its arguments: when it aborts before the lock is held, the call leaves
   * the queue and fails with the signal's reason. Work that has begun is not ended by it.
   */
  readonly signal?: LockSignalFunction | undefined;
}

/** Finds the signal that ends a wait in a call's arguments; `this` is the instance. */
export type LockSignalFunction = (...args: never[]) => AbortSignal | undefined;

/** Checked options of one decorated method. */
export interface ResolvedWithLockOptions {
  readonly instance: string;
  readonly onBusy: 'throw' | 'skip';
  readonly signal: LockSignalFunction | undefined;
  readonly hold: Pick<WithLockOptions, 'ttlMs' | 'waitMs' | 'maxHoldMs' | 'reentrant'>;
}

const known = ['ttlMs', 'waitMs', 'maxHoldMs', 'reentrant', 'instance', 'onBusy', 'signal'];

/** @throws LockOptionsError naming the option, its value and what is allowed */
export function resolveWithLockOptions(options: WithLockOptions): ResolvedWithLockOptions {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new LockOptionsError(`"${unknown}" is no option; there are ${known.join(', ')}.`);
  }
  const { ttlMs, waitMs, maxHoldMs, reentrant = false } = options;
  const { instance = DEFAULT_LOCK_INSTANCE, onBusy = 'throw', signal } = options;
  resolveLockOptions({ ttlMs, waitMs, maxHoldMs });
  expect('reentrant', reentrant, typeof reentrant === 'boolean', 'a boolean');
  expect('instance', instance, typeof instance === 'string' && instance !== '', "a module's name");
  expect('onBusy', onBusy, onBusy === 'throw' || onBusy === 'skip', '"throw" or "skip"');
  expect('signal', signal, signal === undefined || typeof signal === 'function', 'a function');
  return { instance, onBusy, signal, hold: { ttlMs, waitMs, maxHoldMs, reentrant } };
}

function expect(name: string, value: unknown, isGood: boolean, wanted: string): void {
  if (!isGood) throw new LockOptionsError(`${name} is ${String(value)}; it must be ${wanted}.`);
}
