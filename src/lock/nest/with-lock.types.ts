import type { LockNames } from '../core/lock-manager.js';
import type { WithLockOptions } from './with-lock.options.js';

/** Computes a lock's name (or several, taken together) from a call's arguments; `this` is the instance. */
export type LockNameFunction<A extends readonly unknown[]> = (...args: A) => LockNames;

/** What a locked method may return: the lock is taken asynchronously, so it cannot answer at once. */
type LockedResult = PromiseLike<unknown> | AsyncGenerator<unknown, unknown, never>;

type Method = (...args: never[]) => LockedResult;

/** Explains, as a type that nothing can be, why a decorator does not fit. */
interface Refused<Why extends string> {
  readonly __withLock: Why;
}

type FitsArguments<M extends Method, A extends readonly unknown[]> = ((
  ...args: A
) => unknown) extends (...args: Parameters<M>) => unknown
  ? unknown
  : Refused<'the name function takes other parameters than the method'>;

type FitsSkip<M extends Method, O extends WithLockOptions> = O extends { readonly onBusy: 'skip' }
  ? ReturnType<M> extends PromiseLike<infer R>
    ? undefined extends R
      ? unknown
      : Refused<'with onBusy: skip the method must be able to give undefined'>
    : unknown
  : unknown;

/**
 * A method decorator for methods that return a promise or an async generator (also a promise of a
 * stream, of a StreamableFile or of an Observable). For others it does not compile.
 */
export type WithLockDecorator<A extends readonly unknown[], O extends WithLockOptions> = <
  M extends Method,
>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & FitsArguments<M, A> & FitsSkip<M, O>,
) => void;
