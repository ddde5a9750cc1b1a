/**
 * The database gave no answer, or cannot take the write (down, full, read-only, busy beyond the
 * deadline, shutting down). Nothing is known about the last write; trying again later is safe for
 * writes that are guarded by a fence. HTTP answers 503.
 */
export class DatabaseUnavailableError extends Error {
  readonly code = 'database_unavailable';

  constructor(why: string, options?: ErrorOptions) {
    super(`The database is unavailable: ${why}`, options);
    this.name = 'DatabaseUnavailableError';
  }
}

/** A caller's mistake: a value that the two databases cannot both keep as it is. Nothing was sent. */
export class DatabaseValueError extends Error {
  readonly code = 'database_value';

  constructor(message: string) {
    super(message);
    this.name = 'DatabaseValueError';
  }
}

/** The database's schema cannot be brought to what this version needs. Boot must refuse. */
export class MigrationError extends Error {
  readonly code = 'database_migration';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MigrationError';
  }
}

/** What a guarded write was about to change. */
export interface GuardedTarget {
  readonly table: string;
  readonly id: string;
  /** The fence of the writer. */
  readonly fence: bigint;
}

/**
 * A write was refused, and changed nothing, since a newer holder of the lock has already written:
 * the writer lost its lease. Whatever it still does is void.
 */
export class StaleFenceError extends Error {
  readonly code = 'lease_lost';
  readonly table: string;
  readonly id: string;
  readonly fence: bigint;

  constructor(target: GuardedTarget) {
    super(
      `Fence ${target.fence} may no longer write ${target.table} "${target.id}": a newer holder of its lock has written. Stop, and start again under a new lease.`,
    );
    this.name = 'StaleFenceError';
    this.table = target.table;
    this.id = target.id;
    this.fence = target.fence;
  }
}
