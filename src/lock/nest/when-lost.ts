import type { Lease } from '../core/lease.js';
import type { LockLostError } from '../core/lock.errors.js';

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

/** An error of cleaning up after a loss: the consumer has its LockLostError, so this goes to the log. */
export function reportCleanUp(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), 'LockCleanUpWarning');
}
