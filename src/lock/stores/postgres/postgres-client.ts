import type * as Pg from 'pg';
import { LockOptionsError } from '../../core/lock.errors.js';

/**
 * Loads the client library, which is an optional peer: only a process that chose this store needs it.
 * @throws LockOptionsError naming what to install
 */
export async function loadPostgresClient(): Promise<typeof Pg.default> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new LockOptionsError(
      'The lock store "postgres" needs the package pg, which is not installed. Run "npm install pg", or choose another store.',
    );
  }
}
