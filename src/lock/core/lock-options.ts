import { MAX_TIMER_MS } from './clock.js';
import type { StoreLives } from './lock-store.js';
import { LockOptionsError } from './lock.errors.js';

/** How a lock is taken and held. Every duration is in milliseconds. */
export interface LockOptions {
  /**
   * The life of the key in the store; the watchdog renews it at a third. 100 to 86 400 000.
   * @default 30000
   */
  readonly ttlMs: number;
  /**
   * How long to wait for a busy lock. 0 is exactly one try; at most 2^31-1.
   * @default 0
   */
  readonly waitMs: number;
  /**
   * The longest hold: then the lease is lost with MAX_HOLD, however busy the work is. 1 to 2^31-1, or Infinity.
   * @default 600000
   */
  readonly maxHoldMs: number;
  /**
   * How long one command to the store may take before its outcome counts as unknown. 1 to 2^31-1;
   * a third of the TTL where that is less.
   * @default 1000
   */
  readonly commandTimeoutMs: number;
}

/** The defaults of every entry: module, service, decorator, environment. */
export const DEFAULT_LOCK_OPTIONS: LockOptions = Object.freeze({
  ttlMs: 30_000,
  waitMs: 0,
  maxHoldMs: 600_000,
  commandTimeoutMs: 1_000,
});

const bounds: Record<keyof LockOptions, readonly [number, number]> = {
  ttlMs: [100, 86_400_000],
  waitMs: [0, MAX_TIMER_MS],
  maxHoldMs: [1, MAX_TIMER_MS],
  commandTimeoutMs: [1, MAX_TIMER_MS],
};

/**
 * The one place where options are filled in and checked.
 * @throws LockOptionsError naming the option, its value and its bounds
 */
export function resolveLockOptions(
  given: Partial<LockOptions> = {},
  defaults: LockOptions = DEFAULT_LOCK_OPTIONS,
): LockOptions {
  for (const name in given) checkIsKnown(name);
  if (isNothing(given)) return defaults; // checked before, when they were resolved themselves
  const options = {
    ttlMs: given.ttlMs ?? defaults.ttlMs,
    waitMs: given.waitMs ?? defaults.waitMs,
    maxHoldMs: given.maxHoldMs ?? defaults.maxHoldMs,
    commandTimeoutMs: given.commandTimeoutMs ?? defaults.commandTimeoutMs,
  };
  for (const name of Object.keys(bounds) as (keyof LockOptions)[]) checkBounds(name, options[name]);
  options.commandTimeoutMs = Math.min(options.commandTimeoutMs, Math.floor(options.ttlMs / 3));
  return Object.freeze(options);
}

/** What may stand beside the options of a lock: the engine takes it out by itself. */
const beside = ['signal', 'reentrant'];

function checkIsKnown(name: string): void {
  if (name in bounds || beside.includes(name)) return;
  throw new LockOptionsError(
    `"${name}" is no option of a lock; there are ${Object.keys(bounds).join(', ')}.`,
  );
}

function isNothing({ ttlMs, waitMs, maxHoldMs, commandTimeoutMs }: Partial<LockOptions>): boolean {
  return (ttlMs ?? waitMs ?? maxHoldMs ?? commandTimeoutMs) === undefined;
}

/** @throws LockOptionsError unless `value` is a whole number of ms within the option's bounds */
export function checkBounds(name: keyof LockOptions, value: unknown): asserts value is number {
  const [least, most] = bounds[name];
  if (name === 'maxHoldMs' && value === Infinity) return;
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    const orInfinity = name === 'maxHoldMs' ? ', or Infinity' : '';
    throw new LockOptionsError(
      `${name} is ${String(value)}; it must be a whole number of milliseconds from ${least} to ${most}${orInfinity}.`,
    );
  }
}

/** @throws LockOptionsError where the store cannot count so short a life, or keep so long a one */
export function checkTtl(ttlMs: number, { ttlStepMs, longestTtlMs = Infinity }: StoreLives): void {
  if (ttlMs < ttlStepMs) {
    throw new LockOptionsError(
      `ttlMs is ${ttlMs}, but the lock store counts lives in steps of ${ttlStepMs} ms. Make it at least that, or choose another store.`,
    );
  }
  if (ttlMs > longestTtlMs) {
    throw new LockOptionsError(
      `ttlMs is ${ttlMs}, but the lock store keeps no lock for longer than ${longestTtlMs} ms. Make it at most that, or set the store's own limit higher in all processes.`,
    );
  }
}

/** What is taken off a lease's life for the drift of two clocks: 1 % of the TTL and 2 ms. */
export function driftMarginMs(ttlMs: number): number {
  return Math.ceil(ttlMs / 100) + 2;
}
