import { Observable, type Subscription } from 'rxjs';
import type { Hold } from '../core/hold.js';
import type { LockLostError } from '../core/lock.errors.js';
import { whenLost, whenUnconsumed } from './when-lost.js';

/**
 * The same Observable under the lock: held until the last of its subscribers at the same time has
 * seen the end, an error, or has unsubscribed; they learn the end after the release. A lost lease is
 * an error to each of them, and so is a subscription that comes when the lock is no longer held, or
 * more than 10 s after the method's end.
 */
export function coverObservable<T>(source: Observable<T>, hold: Hold): Observable<T> {
  const active = new Set<(lost: LockLostError) => void>();
  let isConsumed = false;
  const stopWaiting = whenUnconsumed(
    hold.lease,
    () => isConsumed,
    () => void hold.end(),
  );
  const stopListening = whenLost(hold.lease, (lost) => {
    stopWaiting();
    if (active.size === 0) void hold.end();
    for (const fail of active) fail(lost);
  });
  return new Observable<T>((subscriber) => {
    const fail = (lost: LockLostError) => subscriber.error(lost);
    const leave = async (outcome?: { readonly result: unknown }) => {
      if (!active.delete(fail) || active.size > 0) return;
      stopListening();
      await hold.end(outcome);
    };
    const settle = async (tell: () => void, outcome?: { readonly result: unknown }) => {
      await leave(outcome).then(tell, (lost: unknown) => subscriber.error(lost));
    };
    hold.lease.assertHeld(); // what is thrown here becomes the subscriber's error
    isConsumed = true;
    stopWaiting();
    active.add(fail);
    const subscription: Subscription = hold.enter(() =>
      source.subscribe({
        next: (value) => subscriber.next(value),
        error: (error: unknown) => void settle(() => subscriber.error(error)),
        complete: () => void settle(() => subscriber.complete(), { result: undefined }),
      }),
    );
    return () => {
      subscription.unsubscribe();
      void leave();
    };
  });
}
