import { DatabaseError } from 'pg';
import { DatabaseUnavailableError, DatabaseValueError } from '../database.errors.js';

/**
 * SQLSTATE classes and codes that say nothing about the statement itself: connection (08), invalid
 * authorization (28), no such database (3D), resources and disk full (53), shutdown and cancellation
 * (57), system and I/O (58), internal (XX), a read-only server, deadlock, serialization, lock time-out.
 */
const unavailable = /^(?:08|28|3D|53|57|58|XX)|^(?:25006|40001|40P01|55P03|25P03)$/;

/** DatabaseUnavailableError for trouble with the server or the way to it; every other error as it is. */
export function translatePostgresError(error: unknown, server: string): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseValueError) return error;
  // Whatever is not an answer of the server is trouble on the way: refused, reset, timed out, ended.
  const answered = error instanceof DatabaseError;
  if (answered && !unavailable.test(error.code ?? '')) return error;
  const detail =
    error instanceof AggregateError
      ? error.errors.map((each: unknown) => (each instanceof Error ? each.message : '')).join('; ')
      : error.message;
  return new DatabaseUnavailableError(`PostgreSQL at ${server}: ${detail}.`, { cause: error });
}
