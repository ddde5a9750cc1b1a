import { LockOptionsError } from '../../core/lock.errors.js';

/** A row, by the names of its columns. */
export type Row = Record<string, unknown>;

/** What this store needs of a connection of `pg`. */
export interface PostgresClient {
  query(
    query:
      | string
      | { readonly text: string; readonly values: unknown[]; readonly query_timeout?: number },
    values?: unknown[],
  ): Promise<{ rows: Row[] }>;
  on(event: 'notification', listener: (message: Notification) => void): unknown;
  on(event: 'error' | 'end', listener: () => void): unknown;
  removeAllListeners(event: 'notification'): unknown;
  release(destroy?: boolean): void;
}

interface Notification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** A pool of `pg`, in the shape that this store needs: the types of this package work where `pg` is not installed. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
}

/** A pool that the store has opened itself. */
export interface OwnPool extends PostgresPool {
  on(event: 'error', listener: () => void): unknown;
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown;
  end(): Promise<void>;
}

/**
 * A pool of its own, with the client library, which is an optional peer: only a process that chose this store needs it.
 * @throws LockOptionsError naming what to install
 */
export async function openPool(options: object): Promise<OwnPool> {
  try {
    const { default: pg } = await import('pg');
    return new pg.Pool(options);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new LockOptionsError(
      'The lock store "postgres" needs the package pg, which is not installed. Run "npm install pg", or choose another store.',
    );
  }
}
