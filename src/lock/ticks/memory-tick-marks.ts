import { type Clock, SystemClock } from '../core/clock.js';
import type { ClaimReply, TickClaim, TickMarks } from './tick-marks.js';

interface Mark {
  tickMs: number;
  fence: bigint;
}

/**
 * Marks within one process: for tests, and for jobs that a single process runs and that may repeat an
 * instant after a restart. One map entry per job.
 */
export class MemoryTickMarks implements TickMarks {
  private readonly marks = new Map<string, Mark>();

  constructor(private readonly clock: Clock = new SystemClock()) {}

  /** The process's clock: nobody else sees these marks. */
  async nowMs(): Promise<number> {
    return Math.floor(this.clock.now().wallMs);
  }

  async claim({ job, tickMs, fence, done }: TickClaim): Promise<ClaimReply> {
    const mark = this.marks.get(job) ?? { tickMs: -1, fence: -1n };
    if (mark.tickMs === tickMs && mark.fence === fence) return 'claimed';
    if (fence < mark.fence) return 'stale';
    if (tickMs <= mark.tickMs) return 'done';
    this.marks.set(job, { fence, tickMs: done ? tickMs : mark.tickMs });
    return 'claimed';
  }
}
