import { type Clock, plusMs, remainingMs, sleep } from '../core/clock.js';
import { withDeadline } from '../core/with-deadline.js';
import type { ClaimReply, TickClaim, TickMarks } from './tick-marks.js';

const PAUSE_MS = 100;

/**
 * Claims, and repeats the claim while it has no answer: claims may be repeated.
 * @throws the last trouble after `timeoutMs`, or the signal's reason
 */
export async function claimWithin(
  marks: TickMarks,
  claim: TickClaim,
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
): Promise<ClaimReply> {
  const deadline = plusMs(clock.now(), timeoutMs);
  const left = () => remainingMs(deadline, clock.now());
  for (;;) {
    signal.throwIfAborted();
    try {
      return await withDeadline(marks.claim(claim), clock, left(), { signal });
    } catch (error) {
      if (signal.aborted || left() <= PAUSE_MS) throw error;
    }
    await sleep(clock, PAUSE_MS, signal, true);
  }
}
