import { type LockState } from '../../lock/index.js';

/** Who holds a lock. Not its token: whoever had that could release or renew the lock. */
export interface LockHolderView {
  /** Of the process, random. */
  readonly process: string;
  /** What people call the replica. */
  readonly label: string;
}

/** A lock that is held, as administrators see it. */
export interface LockView {
  readonly name: string;
  /** null for a foreign client. */
  readonly holder: LockHolderView | null;
  /** ISO 8601, by this replica's clock; null where not known. */
  readonly since: string | null;
  readonly heldForMs: number | null;
  /** How long it lives yet if it is not renewed; null: for ever. */
  readonly remainingMs: number | null;
  /** Processes that stand in line. */
  readonly queued: number;
  /** Taken from its holder, who has not let go yet. */
  readonly revoked: boolean;
}

/** Locks that are held. */
export interface LockListView {
  readonly items: readonly LockView[];
  /** Whether there were more than the limit. */
  readonly isTruncated: boolean;
}

/** What became of a lock that was to be revoked. */
export interface RevokedView {
  readonly name: string;
  /** `revoked`: its holder is told, and nobody is granted the lock before it lets go; `deleted`: of a foreign client. */
  readonly outcome: 'revoked' | 'deleted';
}

/** The view of a lock; `now` is this replica's time, in ms. */
export function toLockView(lock: LockState, now: number): LockView {
  const { name, holder, heldForMs, remainingMs, queued, revoked } = lock;
  return {
    name,
    holder: holder && { process: holder.process, label: holder.label },
    since: heldForMs === undefined ? null : new Date(now - heldForMs).toISOString(),
    heldForMs: heldForMs ?? null,
    remainingMs: remainingMs ?? null,
    queued,
    revoked,
  };
}
