import { SystemClock } from '../core/clock.js';
import type { Lease } from '../core/lease.js';
import { LockLostError } from '../core/lock.errors.js';

/** How long a result that goes on after its method may wait for somebody to begin consuming it, in ms. */
const MAX_UNCONSUMED_MS = 10_000;

const clock = new SystemClock();

/**
 * Calls `listener` when the lease ends, unless the returned function was called before: work that
 * ends in order stops listening first, so what comes here is a loss. The lease must be held now.
 */
export function whenLost(lease: Lease, listener: (lost: LockLostError) => void): () => void {
  const { signal } = lease;
  const onAbort = () => listener(signal.reason as LockLostError);
  signal.addEventListener('abort', onAbort, { once: true });
  return () => signal.removeEventListener('abort', onAbort);
}

/**
 * Calls `listener` when nobody has begun to consume a result in time (its client left before it was
 * there, say), unless the returned function was called before.
 */
export function whenUnconsumed(
  { name }: Lease,
  isConsumed: () => boolean,
  listener: (lost: LockLostError) => void,
): () => void {
  return after(MAX_UNCONSUMED_MS, () => {
    if (!isConsumed()) listener(new LockLostError(name, 'RELEASED'));
  });
}

/** Calls `listener` after so many ms, unless the returned function was called before. */
export function after(ms: number, listener: () => void): () => void {
  return clock.setTimer(listener, ms);
}

/** An error of cleaning up after a loss: the consumer has its LockLostError, so this goes to the log. */
export function reportCleanUp(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), 'LockCleanUpWarning');
}
