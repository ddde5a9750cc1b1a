import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks `probe` again and again until it gives something truthy, and resolves with that.
 * @throws after `timeoutMs`, naming `what`, with the last error as its cause
 */
export async function until(what, probe, { timeoutMs = 20_000, everyMs = 25 } = {}) {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let cause;
    try {
      const value = await probe();
      if (value) return value;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`Waited ${timeoutMs} ms for ${what} in vain.`, { cause });
    }
    await delay(everyMs);
  }
}
