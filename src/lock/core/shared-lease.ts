import type { Instant } from './clock.js';
import { LockLostError, type LossCode } from './lock.errors.js';

const MONO = 0;
const WALL = 1;
const ENDED = 2;
/** The field holds 0 while the lease lasts, then 1 + the index of the reason. */
const reasons: readonly LossCode[] = [
  'EXPIRED',
  'NOT_OWNER',
  'MAX_HOLD',
  'REVOKED',
  'SHUTDOWN',
  'RELEASED',
];

/** Writes what worker threads may know of a lease: until when it is valid, and why it has ended. */
export class SharedLeaseState {
  readonly buffer = new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT);
  private readonly fields = new Float64Array(this.buffer);

  /** Both clocks' ends, told from now on: threads count their monotonic time from different moments. */
  setValidUntil(until: Instant, now: Instant): void {
    this.fields[MONO] = monotonicMs() + (until.monoMs - now.monoMs);
    this.fields[WALL] = until.wallMs;
  }

  end(reason: LossCode): void {
    this.fields[ENDED] = 1 + reasons.indexOf(reason);
  }
}

/**
 * For worker threads: throws LockLostError unless the lease behind `lease.shared` is held right
 * now. Costs two clock readings, no message; the main loop may be blocked. Post `lease.shared`
 * with the task (an AbortSignal cannot be posted).
 */
export function assertHeld(shared: SharedArrayBuffer, name = 'of this task'): void {
  const fields = new Float64Array(shared);
  const ended = fields[ENDED] ?? 0;
  if (ended !== 0) throw new LockLostError(name, reasons[ended - 1] ?? 'RELEASED');
  if (monotonicMs() >= (fields[MONO] ?? 0) || Date.now() >= (fields[WALL] ?? 0)) {
    throw new LockLostError(name, 'EXPIRED');
  }
}

/** The monotonic clock as all threads of a process see it, in ms. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
