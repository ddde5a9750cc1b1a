/** A problem as RFC 9457 puts it on the wire. */
export interface Problem {
  /** Identifies the kind of problem; stable, and not meant to be opened. */
  readonly type: string;
  /** One per kind, never about the occurrence. */
  readonly title: string;
  readonly status: number;
  /** Stable and machine-readable; the last part of `type`. */
  readonly code: string;
  /** What happened this time, and what to do about it. */
  readonly detail?: string;
  /** More, where the kind has more to say: `errors` of a validation, `checks` of readiness. */
  readonly [extension: string]: unknown;
}

/** What the service says of one kind of problem. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Said instead of the error's own message, where that is not meant for clients. */
  readonly detail?: string;
  /** Seconds after which a repetition may succeed. */
  readonly retryAfterSeconds?: number;
}

/** The media type of every error response. */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The body for a kind of problem. */
export function problem(
  code: string,
  { status, title }: ProblemKind,
  detail?: string,
  extension?: object,
): Problem {
  return { type: problemType(code), title, status, code, ...(detail && { detail }), ...extension };
}

/** The `type` of a code. */
export function problemType(code: string): string {
  return `urn:doclock:problem:${code}`;
}
