import type { BusyReply, StoredLock } from '../../core/lock-store.js';
import { LockUnavailableError } from '../../core/lock.errors.js';

/** Whole numbers of PostgreSQL come as text, or as bigint where the application's parsers say so. */
type Whole = string | number | bigint;

/** What `acquire` says. */
export type AcquireRow =
  | { readonly granted: true; readonly fence: Whole; readonly time_us: Whole }
  | (BusyRow & { readonly granted: false; readonly ticket: Whole | null });

/** What `acquire_all` says. */
export interface AcquireAllRow extends BusyRow {
  readonly busy_name: string | null;
  readonly fences: readonly Whole[];
  readonly time_us: Whole;
}

interface BusyRow {
  readonly remaining_us: Whole | null;
  readonly held_us: Whole | null;
  readonly queued: Whole | null;
}

/** What `held` says of a lock. */
export interface HeldRow {
  readonly name: string;
  readonly token: string;
  readonly fence: Whole;
  readonly revoked: boolean;
  readonly queued: Whole;
  readonly remaining_us: Whole;
  readonly held_us: Whole;
}

/** Microseconds, rounded up. */
export function fromMs(ms: number): string {
  return String(Math.ceil(ms * 1000));
}

/** A refused try. @throws LockUnavailableError for an answer that says nothing */
export function busyReply(row: BusyRow | undefined): Omit<BusyReply, 'ticket'> {
  if (!row || row.remaining_us === null) {
    throw new LockUnavailableError(undefined, 'PostgreSQL gave an answer of an unknown shape');
  }
  return {
    status: 'busy',
    remainingMs: toMs(row.remaining_us),
    heldForMs: row.held_us === null ? undefined : toMs(row.held_us),
    queued: Number(row.queued),
  };
}

export function storedLock(row: HeldRow): StoredLock {
  return {
    token: row.token,
    remainingMs: toMs(row.remaining_us),
    fence: BigInt(row.fence),
    heldForMs: toMs(row.held_us),
    queued: Number(row.queued),
    revoked: row.revoked,
  };
}

/** A time of the server, in whole ms as all stores give it. */
export function wholeMs(us: Whole): number {
  return Math.floor(toMs(us));
}

function toMs(us: Whole): number {
  return Number(us) / 1000;
}
