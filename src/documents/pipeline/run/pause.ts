import { setTimeout as delay } from 'node:timers/promises';

/** Waits, or rejects with the signal's reason as soon as that aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (ms === 0) return;
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}
