import { escapeValue, lockName, type LockName } from '../core/lock-name.js';
import { type LockOptions, resolveLockOptions } from '../core/lock-options.js';
import { LockOptionsError } from '../core/lock.errors.js';

/**
 * When a tick counts as done. `at-most-once`: as it starts; one that fails or dies is not repeated.
 * `at-least-once`: after it succeeded; until then whoever claims the same instant again, with a new
 * fence, takes it over.
 */
export type TickMode = 'at-most-once' | 'at-least-once';

/** A scheduled job. Durations in ms. */
export interface TickJobOptions {
  /**
   * Names the job for good: its lock is `job:<name>`, its mark belongs to the name alone. Two jobs
   * must not share one; a new expression is no new job.
   */
  readonly name: string;
  /** @default 'at-most-once' */
  readonly mode?: TickMode | undefined;
  /**
   * How the job's lock is taken. With `waitMs` a replica that finds it held stays at hand, and in the
   * mode `at-least-once` takes the instant over if the holder dies.
   * @default one try, and the engine's defaults
   */
  readonly lock?: Partial<LockOptions> | undefined;
  /**
   * How far a tick may be ahead of the lock store's time, in ms (half a period counts where that is
   * more). Beyond it, the clock of this process must be wrong, and its mark would block the others.
   * @default 60000
   */
  readonly maxAheadMs?: number | undefined;
  /**
   * How long claiming may take, repetitions included, in ms.
   * @default 5000
   */
  readonly claimTimeoutMs?: number | undefined;
}

/** The defaults of every job. */
export const DEFAULT_TICK_OPTIONS: Pick<ResolvedTickJob, 'mode' | 'maxAheadMs' | 'claimTimeoutMs'> =
  Object.freeze({
    mode: 'at-most-once',
    maxAheadMs: 60_000,
    claimTimeoutMs: 5_000,
  });

/** Checked options of one job. */
export interface ResolvedTickJob {
  /** The name, escaped: what marks and records are kept under. */
  readonly name: string;
  readonly lockName: LockName;
  readonly mode: TickMode;
  readonly lock: Partial<LockOptions>;
  readonly maxAheadMs: number;
  readonly claimTimeoutMs: number;
}

/** @throws LockOptionsError naming the option, its value and what is allowed */
export function resolveTickJob(options: TickJobOptions): ResolvedTickJob {
  const { name, lock = {} } = options;
  const {
    mode = DEFAULT_TICK_OPTIONS.mode,
    maxAheadMs = DEFAULT_TICK_OPTIONS.maxAheadMs,
    claimTimeoutMs = DEFAULT_TICK_OPTIONS.claimTimeoutMs,
  } = options;
  if (typeof name !== 'string') {
    throw new LockOptionsError(`The name of a scheduled job must be a string.`);
  }
  if (mode !== 'at-most-once' && mode !== 'at-least-once') {
    throw new LockOptionsError(
      `mode is ${String(mode)}; it must be "at-most-once" or "at-least-once".`,
    );
  }
  for (const [option, value] of Object.entries({ maxAheadMs, claimTimeoutMs })) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new LockOptionsError(
      `${option} is ${String(value)}; it must be a whole number of milliseconds from 1 on.`,
    );
  }
  resolveLockOptions(lock);
  return Object.freeze({
    name: escapeValue(name, 'job'),
    lockName: lockName`job:${name}`,
    mode,
    lock,
    maxAheadMs,
    claimTimeoutMs,
  });
}
