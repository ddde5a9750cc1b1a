/** Why a lease ended before its work did, or that the work is over (`RELEASED`). */
export type LossCode = 'EXPIRED' | 'NOT_OWNER' | 'MAX_HOLD' | 'REVOKED' | 'SHUTDOWN' | 'RELEASED';

/** The stable codes of the lock errors. */
export type LockErrorCode =
  | 'LOCK_BUSY'
  | 'LOCK_WAIT_TIMEOUT'
  | 'LOCK_UNAVAILABLE'
  | 'LOCK_LOST'
  | 'LOCK_REENTRY'
  | 'LOCK_OPTIONS';

/** What every error of the lock module has in common: a stable `code` and the lock's name, if one. */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;

  constructor(
    message: string,
    /** The escaped name of the lock, or undefined where no single lock is concerned. */
    readonly lockName: string | undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Somebody else holds the lock: an expected outcome, not a fault. */
export class LockBusyError extends LockError {
  readonly code: LockErrorCode = 'LOCK_BUSY';

  constructor(
    lockName: string,
    /** How long the holder's key lives yet if it is not renewed, in ms; undefined where not known. */
    readonly remainingMs: number | undefined,
    /** When a next try is likely to succeed, in ms: an estimate from recent holds. */
    readonly retryAfterMs: number,
    message = `Lock "${lockName}" is held by someone else. Try again later, or pass waitMs to wait.`,
  ) {
    super(message, lockName);
  }
}

/** Nothing is granted to anybody for longer than the caller would wait: told at once. */
export class LockClosedError extends LockBusyError {
  constructor(
    lockName: string,
    /** For so long, in ms; Infinity: until somebody intervenes. */
    readonly closedMs: number,
  ) {
    const until = Number.isFinite(closedMs) ? closedMs : undefined;
    const message = `"${lockName}" grants nothing ${until === undefined ? 'until somebody intervenes' : `for ${Math.ceil(until)} ms`}. Try again then.`;
    super(lockName, until, until ?? 0, message);
  }
}

/** The lock stayed busy for all of `waitMs`. */
export class LockWaitTimeoutError extends LockBusyError {
  override readonly code = 'LOCK_WAIT_TIMEOUT';

  constructor(
    lockName: string,
    remainingMs: number | undefined,
    retryAfterMs: number,
    readonly waitedMs: number,
  ) {
    super(
      lockName,
      remainingMs,
      retryAfterMs,
      `Lock "${lockName}" was still held by someone else after waiting ${Math.round(waitedMs)} ms. Try again later, or wait longer.`,
    );
  }
}

/** The lock store gave no verdict (down, frozen, read-only, out of memory, shutting down): nobody knows who holds the lock. */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';
  /** False where the command certainly had no effect (never sent, or refused by the server). */
  readonly mayHaveRun: boolean;

  constructor(
    lockName: string | undefined,
    why: string,
    options?: ErrorOptions & { mayHaveRun?: boolean },
  ) {
    super(
      lockName === undefined
        ? `The lock store is unavailable: ${why}`
        : `Lock "${lockName}" could not be decided: ${why}`,
      lockName,
      options,
    );
    this.mayHaveRun = options?.mayHaveRun ?? true;
  }
}

const lossReasons: Record<LossCode, string> = {
  EXPIRED:
    'the lease ran out before it could be renewed (store slow or away, or a blocked event loop)',
  NOT_OWNER: 'the key was deleted, expired or taken by someone else',
  MAX_HOLD: 'the work took longer than maxHoldMs',
  REVOKED: 'an administrator revoked the lease',
  SHUTDOWN: 'the process is shutting down',
  RELEASED: 'the lease was released; work that goes on after that is not covered',
};

/** The lease ended under its holder: stop, and let the fence refuse what was already under way. */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  /** What the work returned although its lease was lost; set by `run` only. */
  readonly result: unknown;

  constructor(
    lockName: string,
    readonly reason: LossCode,
    options?: ErrorOptions & { result?: unknown },
  ) {
    super(`Lock "${lockName}" is no longer held: ${lossReasons[reason]}.`, lockName, options);
    this.result = options?.result;
  }
}

/** The same async context already holds this lock; waiting for it would never end. */
export class LockReentryError extends LockError {
  readonly code = 'LOCK_REENTRY';

  constructor(lockName: string) {
    super(
      `Lock "${lockName}" is already held by this call. Pass reentrant: true to share the outer lease, or do not take it twice.`,
      lockName,
    );
  }
}

/** A caller's mistake in names, options or use; found before the store is asked. */
export class LockOptionsError extends LockError {
  readonly code = 'LOCK_OPTIONS';

  constructor(message: string, lockName?: string) {
    super(message, lockName);
  }
}
