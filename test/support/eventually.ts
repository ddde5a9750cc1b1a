import { setTimeout as delay } from 'node:timers/promises';

/** How long and how often `eventually` looks; durations in ms. */
export interface EventuallyOptions {
  /** @default 10000 */
  readonly timeoutMs?: number;
  /** @default 20 */
  readonly everyMs?: number;
  /** What is waited for, for the message of a failure; a function where that is only known then. */
  readonly what?: string | (() => string);
}

/**
 * Repeats `probe` until it neither throws nor gives false, undefined or null, and resolves with what
 * it gave. Rejects after `timeoutMs` with the last failure as its cause.
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = 10_000, everyMs = 20, what = 'the condition' }: EventuallyOptions = {},
): Promise<Exclude<T, false | undefined | null>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let cause: unknown;
    try {
      const value = await probe();
      if (isThere(value)) return value;
      cause = new Error(`the last value was ${String(value)}`);
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) {
      const sought = typeof what === 'function' ? what() : what;
      throw new Error(`Waited ${timeoutMs} ms for ${sought} in vain: ${String(cause)}`, { cause });
    }
    await delay(everyMs);
  }
}

function isThere<T>(value: T): value is Exclude<T, false | undefined | null> {
  return value !== false && value !== undefined && value !== null;
}
