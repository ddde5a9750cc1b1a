import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from './sqlite-errors.js';

const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;

/**
 * Repeats a synchronous attempt while another process holds the file, without blocking the event
 * loop in between: pauses of 2 to 50 ms with jitter, until `deadlineMs` have passed since the call.
 * The last busy error, and any other error at once, goes to the caller.
 */
export async function whileBusy<T>(deadlineMs: number, attempt: () => T): Promise<T> {
  const giveUpAt = performance.now() + deadlineMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() + pauseMs > giveUpAt) throw error;
    }
    await sleep(pauseMs * (0.5 + Math.random() / 2));
  }
}
