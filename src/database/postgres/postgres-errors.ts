import { types } from 'node:util';
import { DatabaseError } from 'pg';
import { DatabaseUnavailableError, DatabaseValueError } from '../database.errors.js';

/**
 * SQLSTATE classes and codes that say nothing about the statement itself: connection (08), invalid
 * authorization (28), no such database (3D), resources and disk full (53), shutdown and cancellation
 * (57), system and I/O (58), internal (XX), a read-only server, deadlock, serialization, lock time-out.
 */
const unavailable = /^(?:08|28|3D|53|57|58|XX)|^(?:25006|40001|40P01|55P03|25P03)$/;

// A host with several addresses fails once for each, under one error without a message.
function detailOf(error: Error): string {
  if (!('errors' in error) || !Array.isArray(error.errors)) return error.message;
  return error.errors.map((each) => (types.isNativeError(each) ? each.message : '')).join('; ');
}

/** DatabaseUnavailableError for trouble with the server or the way to it; every other error as it is. */
export function translatePostgresError(error: unknown, server: string): unknown {
  // By nature, not by class: the errors of sockets may come from another realm than this module's.
  if (!types.isNativeError(error) || error instanceof DatabaseValueError) return error;
  // Whatever is not an answer of the server is trouble on the way: refused, reset, timed out, ended.
  const answered = error instanceof DatabaseError;
  if (answered && !unavailable.test(error.code ?? '')) return error;
  return new DatabaseUnavailableError(`PostgreSQL at ${server}: ${detailOf(error)}.`, {
    cause: error,
  });
}
