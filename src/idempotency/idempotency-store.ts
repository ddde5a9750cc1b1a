/** An answer as it is kept and given again. */
export interface StoredAnswer {
  readonly status: number;
  /** Names in lower case; only those that belong to the answer itself. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON; null for none. */
  readonly body: string | null;
}

/** What is known of a key. */
export interface IdempotencyRecord {
  /** Of the request that came with the key first. */
  readonly fingerprint: string;
  /** Of the mark under which the record was written. */
  readonly fence: bigint;
  /** null: begun, and not finished (yet). */
  readonly answer: StoredAnswer | null;
}

/** What a holder of the mark writes before the work. */
export interface BeginRecord {
  readonly fingerprint: string;
  readonly fence: bigint;
  /** The lock store's time, for stores of records without a clock of their own. */
  readonly nowMs: number;
}

/**
 * How long is known what has begun and never ended, in ms: a week, whatever the life of answers. No work
 * lasts as long, so what is under way is always known; what dead workers have begun is forgotten some day.
 */
export const BEGUN_LIFE_MS = 7 * 86_400_000;

/** What a holder of the mark writes after the work. */
export interface FinishRecord {
  /** The one it has begun with. */
  readonly fence: bigint;
  readonly answer: StoredAnswer;
  /** How long the record is kept from now on, in ms. */
  readonly ttlMs: number;
  /** The lock store's time, as in BeginRecord. */
  readonly nowMs: number;
}

/**
 * `begun`: the key is the caller's. `stale`: a newer holder of the mark has begun; the caller may not
 * work. A record: somebody else's, finished or of another request; nothing was changed.
 */
export type BeginReply = 'begun' | 'stale' | IdempotencyRecord;

/** What a sweep has removed, and whether another one may find more. */
export interface SweptRecords {
  readonly removed: number;
  readonly more: boolean;
}

/**
 * The port for what is known of idempotency keys. The mark of who works is a lock, not a record: a
 * record that is only begun blocks nobody, it tells what the key was first used for. Every method is
 * one atomic step; expired records do not exist, and what is only begun expires after BEGUN_LIFE_MS.
 * Trouble is thrown, and never mistaken for an answer. Time is the store's own or, where it has no clock,
 * that of the lock store: never that of one replica, which may be wrong.
 */
export interface IdempotencyStore {
  /** The record of a key, or null. May be null too early on a replica whose clock is wrong: it decides nothing. */
  find(id: string): Promise<IdempotencyRecord | null>;
  /**
   * Notes that work begins. Decides in this order:
   * - no record: written, `begun`;
   * - a finished one: given back, unchanged;
   * - one that a newer fence has begun: `stale`, unchanged;
   * - one that was begun by another request: given back, unchanged;
   * - else the caller takes it over: `begun`. So a repeated call has the same reply.
   */
  begin(id: string, record: BeginRecord): Promise<BeginReply>;
  /**
   * Keeps the answer, where the record is still as the very fence has begun it; a repeated call has the
   * same reply. `stale`: it is not, and nothing changes.
   */
  finish(id: string, record: FinishRecord): Promise<'kept' | 'stale'>;
  /** Forgets what the very fence has begun and not finished; does nothing otherwise. */
  drop(id: string, fence: bigint): Promise<void>;
  /**
   * Removes records that have expired, a bounded number at once, where the store does not do so by itself.
   */
  sweep(nowMs: number): Promise<SweptRecords>;
}
