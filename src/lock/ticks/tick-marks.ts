/** One claim on one scheduled instant of one job. */
export interface TickClaim {
  /** The job's name, escaped. */
  readonly job: string;
  /** The scheduled instant, in ms since the epoch. */
  readonly tickMs: number;
  /** The fence of the claimer's lease on the job's lock. */
  readonly fence: bigint;
  /** True: the tick counts as done from now on. False: it is only begun, and may be taken over. */
  readonly done: boolean;
}

/**
 * `claimed`: the instant is the caller's. `done`: it, or a later one, was done before. `stale`: a
 * newer holder of the job's lock has claimed meanwhile; the caller may not write any more.
 */
export type ClaimReply = 'claimed' | 'done' | 'stale';

/**
 * The port for the high-water marks of scheduled jobs: one per job's name, whatever its expression
 * is at the moment, kept for ever. A store of marks must outlive the job's periods: where it forgets,
 * an instant may run again.
 *
 * `claim` is one atomic step and decides in this order:
 * - the very claim that wrote the mark, sent again: `claimed`, so that a lost reply can be repeated;
 * - a fence lower than the highest that has claimed: `stale`, and nothing changes;
 * - a tick at or below the mark: `done`, and nothing changes;
 * - otherwise the fence is kept, the mark moves to the tick if `done` is set, and it is `claimed`.
 *
 * Trouble is thrown and is never mistaken for an answer. The runner bounds the time of a claim.
 */
export interface TickMarks {
  claim(claim: TickClaim): Promise<ClaimReply>;
  /**
   * The marks' own time, in ms since the epoch: one clock for all processes. It is asked for where the lock store
   * has none (`capabilities.serverTime`). Absent: these marks have no clock, and need a lock store that does.
   */
  nowMs?(): Promise<number>;
}
