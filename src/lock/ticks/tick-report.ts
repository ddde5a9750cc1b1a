/** What a run is about. */
export interface Tick {
  /** The job's name, escaped. */
  readonly job: string;
  /** The instant the timer was armed for; null for a run by hand. */
  readonly scheduledAt: Date | null;
}

/** How a run ended, with what belongs to that. */
export type TickEnding<T> =
  | {
      /** The work succeeded under the lease, and the instant is marked. */
      readonly outcome: 'ran';
      readonly result: T;
    }
  | {
      /**
       * The work threw, its lease was lost, its success could not be marked, or a newer holder of
       * the lock has claimed (StaleTickError).
       */
      readonly outcome: 'failed';
      readonly error: unknown;
    }
  | {
      /** The lock store, or the store of the marks, gave no answer: nothing has run. */
      readonly outcome: 'skipped-unavailable';
      readonly error: unknown;
    }
  | {
      /** The tick is so far ahead of the store's time that this process's clock must be wrong. */
      readonly outcome: 'clock-fault';
      readonly aheadMs: number;
    }
  | {
      /**
       * `skipped-held`: somebody is running the job, this instant or an earlier one that takes long.
       * `skipped-done`: this instant, or a later one, was done.
       */
      readonly outcome: 'skipped-held' | 'skipped-done';
    };

/** How a run ended. Only `ran` and `failed` have (or may have) done the work. */
export type TickOutcome = TickEnding<unknown>['outcome'];

/** One run with its ending. */
export type TickReport<T = unknown> = Tick & {
  /** Of the lease; undefined where the lock was not taken. */
  readonly fence: bigint | undefined;
  /** By the clock of this process. */
  readonly startedAt: Date;
  /** From asking for the lock until it was given back. */
  readonly durationMs: number;
} & TickEnding<T>;

/** A newer holder of the job's lock has claimed: this one lost its lease, or fences have fallen. */
export class StaleTickError extends Error {
  readonly code = 'tick_stale';

  constructor(
    readonly job: string,
    readonly fence: bigint,
  ) {
    super(
      `Fence ${fence} may no longer mark job "${job}": a claim with a newer fence is there. Either this process lost the job's lock, or the lock store lost its fences while its clock was set back; then runs go on as soon as its clock has caught up.`,
    );
    this.name = 'StaleTickError';
  }
}
