import { type Clock, onAbort } from './clock.js';
import { LockError, LockUnavailableError } from './lock.errors.js';

/** Marks that an operation was given up on before it answered. */
export class DeadlineError extends Error {
  constructor(readonly timeoutMs: number) {
    super(`no answer within ${Math.round(timeoutMs)} ms`);
    this.name = 'DeadlineError';
  }
}

/**
 * The outcome of `operation`, or a DeadlineError after `timeoutMs`, or the signal's reason as soon
 * as it aborts: always one of them, even if the operation never settles. An answer that has arrived
 * when the time is over counts, however late a busy event loop comes to read it. A later outcome of
 * the operation is dropped here; whoever started it decides what that means. Only a `background`
 * operation lets the process end meanwhile.
 */
export function withDeadline<T>(
  operation: Promise<T>,
  clock: Clock,
  timeoutMs: number,
  { signal, background = false }: { signal?: AbortSignal | undefined; background?: boolean } = {},
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const finish = () => {
      cancel();
      stopListening?.();
    };
    const fail = (error: unknown) => {
      finish();
      reject(error);
    };
    const abort = () => fail(signal?.reason);
    const cancel = clock.setTimer(
      () => clock.afterInput(() => fail(new DeadlineError(timeoutMs))),
      timeoutMs,
      !background, // somebody awaits this answer: the process must not end before it comes
    );
    const stopListening = signal && onAbort(signal, abort);
    operation.then((value) => {
      finish();
      resolve(value);
    }, fail);
    if (signal?.aborted) abort();
  });
}

/** The store's answer, within a time. @throws LockUnavailableError, whatever the trouble is */
export async function verdictWithin<T>(
  operation: Promise<T>,
  clock: Clock,
  timeoutMs: number,
  name: string | undefined,
): Promise<T> {
  try {
    return await withDeadline(operation, clock, timeoutMs);
  } catch (error) {
    if (error instanceof LockError) throw error;
    throw new LockUnavailableError(name, (error as Error).message, { cause: error });
  }
}
