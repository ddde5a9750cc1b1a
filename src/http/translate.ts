import { HttpException } from '@nestjs/common';
import { codeOfStatus, isProblemCode, PROBLEM_KINDS, type ProblemCode } from './problem-kinds.js';
import { lockProblem } from '../lock/index.js';
import { type Problem, type ProblemKind, problem, problemType } from './problem.js';

/** A problem and the seconds for its Retry-After, if it has one. */
export interface Translation {
  readonly body: Problem;
  readonly retryAfterSeconds: number | undefined;
}

/**
 * What the service answers to an error: a lock error as the lock module says; else by the `code` of a feature's error (whose `extension`
 * object, if any, joins the body, and whose `retryAfterSeconds` wins), by the status of the framework's (one without a code of its own becomes 400 or 500); everything else is a fault, and
 * its message stays in the log.
 */
export function translate(error: unknown): Translation {
  const lock = lockProblem(error);
  if (lock) {
    const { body, retryAfterSeconds } = lock;
    return { body: { ...body, type: problemType(body.code) }, retryAfterSeconds };
  }
  if (error instanceof HttpException) {
    return build(codeOfStatus(error.getStatus()), error.message);
  }
  if (error instanceof Error && 'code' in error && isProblemCode(error.code)) {
    const extension = 'extension' in error && isObject(error.extension) ? error.extension : {};
    const answer = build(error.code, error.message, extension);
    const { retryAfterSeconds } = error as { retryAfterSeconds?: unknown };
    return typeof retryAfterSeconds === 'number' ? { ...answer, retryAfterSeconds } : answer;
  }
  return build('internal_error', '');
}

/** The answer of one kind; `detail` is used where the kind has no fixed one. */
export function build(code: ProblemCode, detail: string, extension: object = {}): Translation {
  const kind: ProblemKind = PROBLEM_KINDS[code];
  return {
    body: problem(code, kind, kind.detail ?? detail, extension),
    retryAfterSeconds: kind.retryAfterSeconds,
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
