/** What a store answers to a try. A store in trouble throws LockUnavailableError; it never says busy. */
export type AcquireReply =
  | {
      readonly status: 'granted';
      /** Strictly greater than every fence granted before under this name. */
      readonly fence: bigint;
      /** The store's own clock at the grant, in ms since the Unix epoch. */
      readonly storeTimeMs: number;
    }
  | {
      readonly status: 'busy';
      /** How long the holder's key lives yet, in ms; undefined where the key never expires. */
      readonly remainingMs: number | undefined;
      /** How long the present holder has held the lock, in ms; undefined where not known. */
      readonly heldForMs: number | undefined;
    };

/** One lock of a batch of renewals. */
export interface Renewal {
  readonly name: string;
  readonly token: string;
  readonly ttlMs: number;
}

/** `unknown`: no verdict (error or time-out); nothing may be concluded from it. */
export type RenewOutcome = 'renewed' | 'not-owner' | 'unknown';

/** What a store answers to a release. No answer is a LockUnavailableError. */
export type ReleaseReply = 'released' | 'not-held';

/** A lock as the store sees it. */
export interface StoredLock {
  readonly token: string;
  /** undefined where the key never expires (a foreign client's mistake). */
  readonly remainingMs: number | undefined;
  /** The fence last minted under this name; undefined where none is kept (foreign holder). */
  readonly fence: bigint | undefined;
}

/** What a store's hints are about: `undefined` means "anything may have happened, look at all". */
export type ReleaseListener = (name: string | undefined) => void;

/**
 * The port between the engine and a lock store. Names are escaped (LockName.escaped), tokens are
 * the engine's. Every operation is one atomic step on the store, with the store's own clock.
 *
 * A store must guarantee:
 * - at most one token per name at any time, until its TTL has passed on the store's clock;
 * - a repeated `tryAcquire` with the token that already holds the lock is granted again, with the
 *   full TTL and the same fence; fences rise strictly with every change of owner;
 * - `renew` never takes a vanished lock again and never shortens a key's life; in a batch every
 *   lock stands alone;
 * - `release` touches nothing but the token's own lock;
 * - trouble (connection, memory, rights, role, foreign data) is thrown as LockUnavailableError and
 *   is never mistaken for `busy`, `not-owner` or `not-held`.
 *
 * It need not bound the time of an operation: the engine does, and undoes what it gave up.
 */
export interface LockStore {
  /** Short and stable, for logs and metrics: `memory`, `redis`. */
  readonly kind: string;
  /** Checks what can be checked before the first lock. @throws with thing, cause and fix */
  start(): Promise<void>;
  tryAcquire(name: string, token: string, ttlMs: number): Promise<AcquireReply>;
  /** One outcome per renewal, in order. Never rejects. */
  renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]>;
  /** Deletes the lock if `token` holds it, and hints at it to waiters in other processes. */
  release(name: string, token: string): Promise<ReleaseReply>;
  /** The lock as it is, or null where nobody holds it. */
  inspect(name: string): Promise<StoredLock | null>;
  /**
   * Calls `listener` when a lock may have become free; hints may be lost or false. Listening costs
   * one subscription per process while at least one listener is there. Returns what ends it.
   */
  onRelease(listener: ReleaseListener): () => void;
  /** Calls `listener` after each reconnection or change of role. Returns what ends it. */
  onReconnect(listener: () => void): () => void;
  /** Ends what the store itself opened; a client that was handed in stays open. */
  close(): Promise<void>;
}
