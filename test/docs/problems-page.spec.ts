import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { PROBLEM_KINDS } from '../../src/http/problem-kinds.js';
import { type ProblemKind } from '../../src/http/problem.js';
import { translate } from '../../src/http/translate.js';
import {
  LockBusyError,
  type LockError,
  type LockErrorCode,
  LockLostError,
  LockOptionsError,
  LockReentryError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from '../../src/lock/index.js';

/** One of each: the type refuses a list that is not complete. */
const lockErrors: Record<LockErrorCode, LockError> = {
  LOCK_BUSY: new LockBusyError('x', 5_000, 1_500),
  LOCK_WAIT_TIMEOUT: new LockWaitTimeoutError('x', 5_000, 1_500, 10),
  LOCK_UNAVAILABLE: new LockUnavailableError('x', 'away'),
  LOCK_LOST: new LockLostError('x', 'EXPIRED'),
  LOCK_REENTRY: new LockReentryError('x'),
  LOCK_OPTIONS: new LockOptionsError('wrong'),
};
/** Of errors that keep the service from starting, or are faults: a client sees `internal_error`. */
const neverAnswered = [
  'chunk_options',
  'config_invalid',
  'database_migration',
  'database_value',
  'instance_lock',
  'listen_failed',
  'thread_pool_closed',
  'vectors_refused',
];
/** Whose Retry-After depends on the occurrence. */
const reckoned: Record<string, string> = {
  document_queued: 'estimated',
  queue_wait_timeout: 'estimated',
  idempotency_in_progress: 'estimated',
  key_pool_busy: 'estimated',
  key_pool_resting: 'exact',
  lock_busy: 'estimated',
  lock_wait_timeout: 'estimated',
  rate_limited: 'exact',
};

interface Row {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly retryAfter: string;
}

const byCode = (rows: readonly Row[]) => rows.toSorted((a, b) => (a.code < b.code ? -1 : 1));

function documented(heading: string): Row[] {
  const page = readFileSync('docs/problems.md', 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  return byCode(
    [...section.matchAll(/^\| `(\w+)` +\| (\d{3}) +\| (.+?) +\| (\w*) +\|/gm)].map(
      ([, code = '', status, title = '', retryAfter = '']) => {
        return { code, status: Number(status), title, retryAfter };
      },
    ),
  );
}

describe('the page about problems', () => {
  it('says of every problem of the service what the code says, and of no other', () => {
    const rows = new Map<string, Row>();
    const add = (code: string, status: number, title: string, seconds: number | undefined) => {
      const row = { code, status, title, retryAfter: reckoned[code] ?? String(seconds ?? '') };
      expect(rows.get(code) ?? row).toEqual(row); // two who answer with one code say the same
      rows.set(code, row);
    };
    for (const [code, { status, title, retryAfterSeconds }] of kinds()) {
      add(code, status, title, retryAfterSeconds);
    }
    for (const error of Object.values(lockErrors)) {
      const { body, retryAfterSeconds } = translate(error);
      add(body.code, body.status, body.title, retryAfterSeconds);
    }
    expect(documented('Of the service')).toEqual(byCode([...rows.values()]));
  });

  it('says what the front answers', () => {
    const answers = readFileSync('docker/haproxy.cfg', 'utf8').matchAll(
      /http-error status (\d+) content-type application\/problem\+json string '(.+?)'(?: hdr retry-after (\d+))?$/gm,
    );
    const rows = [...answers].map(([, status, json = '', retryAfter = '']) => {
      const { type, code, title, ...body } = JSON.parse(json) as Record<string, string>;
      expect(body).toEqual({ status: Number(status), detail: expect.any(String) });
      expect(type).toBe(`urn:doclock:problem:${code}`);
      return { code: code ?? '', status: Number(status), title: title ?? '', retryAfter };
    });
    expect(rows).toHaveLength(3);
    expect(documented('Of the front')).toEqual(byCode(rows));
  });

  it('covers the code of every error in the source', () => {
    const codes = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.spec)\.ts$/.test(file) && !file.startsWith('lock/'))
      .flatMap((file) => [
        ...readFileSync(`src/${file}`, 'utf8').matchAll(/readonly code = '(\w+)'/g),
      ])
      .map(([, code = '']) => code);
    expect(codes.length).toBeGreaterThan(20);
    const unknown = codes.filter((code) => !Object.hasOwn(PROBLEM_KINDS, code));
    expect([...new Set(unknown)].sort()).toEqual(neverAnswered);
  });
});

function kinds(): [string, ProblemKind][] {
  return Object.entries<ProblemKind>(PROBLEM_KINDS);
}
