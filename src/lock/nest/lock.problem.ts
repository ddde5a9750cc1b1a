import {
  LockBusyError,
  LockError,
  type LockErrorCode,
  LockLostError,
  LockUnavailableError,
} from '../core/lock.errors.js';

/** A problem details body (RFC 9457). Never holds a lock's name, token or fence. */
export interface LockProblemBody {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable, for programs. */
  readonly code: LockProblemCode;
}

/** The codes of the answers to lock errors. */
export type LockProblemCode =
  'lock_busy' | 'lock_wait_timeout' | 'lock_unavailable' | 'lease_lost' | 'internal_error';

/** The answer to a lock error. */
export interface LockProblem {
  readonly body: LockProblemBody;
  /** For the Retry-After header; undefined where a retry will not help. */
  readonly retryAfterSeconds: number | undefined;
}

const busyTitle = 'Another worker holds the lock';
const faultAnswer = {
  status: 500,
  title: 'The service failed',
  code: 'internal_error',
  detail: 'Something unexpected happened; the log of the service says more.',
} as const;

const answers: Record<LockErrorCode, Omit<LockProblemBody, 'type'>> = {
  LOCK_BUSY: {
    status: 423,
    title: busyTitle,
    code: 'lock_busy',
    detail: 'The work is already under way elsewhere. Repeat the request after Retry-After.',
  },
  LOCK_WAIT_TIMEOUT: {
    status: 423,
    title: busyTitle,
    code: 'lock_wait_timeout',
    detail:
      'The lock stayed busy for all of the waiting time. Repeat the request after Retry-After.',
  },
  LOCK_UNAVAILABLE: {
    status: 503,
    title: 'The lock store gives no answer',
    code: 'lock_unavailable',
    detail: 'Nobody knows whether the work is under way elsewhere, so it was not begun.',
  },
  LOCK_LOST: {
    status: 503,
    title: 'The lock was lost during the work',
    code: 'lease_lost',
    detail: 'The work was stopped because it was no longer alone. Repeat the request.',
  },
  LOCK_REENTRY: faultAnswer,
  LOCK_OPTIONS: faultAnswer,
};

/** What there is to say of every problem of the lock module, for descriptions of an API: one entry per code. */
export function lockProblemKinds(): readonly Pick<LockProblemBody, 'code' | 'status' | 'title'>[] {
  const byCode = new Map(Object.values(answers).map((answer) => [answer.code, answer]));
  return [...byCode.values()].map(({ code, status, title }) => ({ code, status, title }));
}

/**
 * What HTTP answers to an error of the lock module; undefined for any other error. Pure, for
 * exception filters: 423 for busy, 503 for a store in trouble and for a lost lease, 500 for the
 * programming errors (log those), which include a value that cannot name a lock: what a request
 * may hold is for pipes to validate before the locked method is called.
 */
export function lockProblem(error: unknown): LockProblem | undefined {
  if (!(error instanceof LockError)) return undefined;
  return {
    body: { type: 'about:blank', ...answers[error.code] },
    retryAfterSeconds: retryAfterSeconds(error),
  };
}

function retryAfterSeconds(error: LockError): number | undefined {
  if (error instanceof LockBusyError) {
    const most = Math.ceil((error.remainingMs ?? Infinity) / 1000);
    return Math.max(1, Math.min(Math.ceil(error.retryAfterMs / 1000), most));
  }
  // Nothing is known of when trouble ends.
  return error instanceof LockUnavailableError || error instanceof LockLostError ? 1 : undefined;
}
