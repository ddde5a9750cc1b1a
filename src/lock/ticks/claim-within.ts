import { type Clock, plusMs, remainingMs, sleep } from '../core/clock.js';
import { withDeadline } from '../core/with-deadline.js';
import type { ClaimReply, TickClaim, TickMarks } from './tick-marks.js';

const PAUSE_MS = 100;

/** What bounds an operation on marks. */
interface Bounds {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Claims, and repeats the claim while it has no answer: claims may be repeated.
 * @throws the last failure after `timeoutMs`, or the signal's reason
 */
export function claimWithin(
  marks: TickMarks,
  claim: TickClaim,
  bounds: Bounds,
): Promise<ClaimReply> {
  return answerWithin(() => marks.claim(claim), bounds);
}

/** The answer of marks to something that may be asked again while there is none. */
export async function answerWithin<T>(
  ask: () => Promise<T>,
  { clock, timeoutMs, signal }: Bounds,
): Promise<T> {
  const deadline = plusMs(clock.now(), timeoutMs);
  const left = () => remainingMs(deadline, clock.now());
  for (;;) {
    signal.throwIfAborted();
    try {
      return await withDeadline(ask(), clock, left(), { signal });
    } catch (error) {
      if (signal.aborted || left() <= PAUSE_MS) throw error;
    }
    await sleep(clock, PAUSE_MS, signal, true);
  }
}
