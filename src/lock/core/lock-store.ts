/** What a store answers to a try. A store in trouble throws LockUnavailableError; it never says busy. */
export type AcquireReply = GrantReply | BusyReply;

/** The asking token has the lock, or a permit. */
export interface GrantReply {
  readonly status: 'granted';
  /** Strictly greater than every fence granted before under this name. */
  readonly fence: bigint;
  /** The store's own clock at the grant, in whole ms since the Unix epoch. */
  readonly storeTimeMs: number;
  /** Which of several things was granted, where the store gives one of several (a pool's member). */
  readonly permit?: string | undefined;
  /**
   * The asking process's place is now that of the waiter behind (`Place.nextTicket`), which may be silent for
   * so long, in ms. Absent where the process has no place any more.
   */
  readonly nextLookMs?: number | undefined;
  /** How many more permits are free for the asking process. Absent where the store grants one of a kind. */
  readonly left?: number | undefined;
}

/** Somebody else has the lock, or it is free and kept for the head of its line. */
export interface BusyReply {
  readonly status: 'busy';
  /** How long the holder's key lives yet, in ms; undefined where the key never expires. */
  readonly remainingMs: number | undefined;
  /** How long the present holder has held the lock, in ms; undefined where not known. */
  readonly heldForMs: number | undefined;
  /** Processes that stand in line, the asking one included. */
  readonly queued: number;
  /** The asking process's ticket, if it stands in line. */
  readonly ticket: string | undefined;
  /**
   * The ticket that whoever comes now would get, in µs. Absent where the process has no place, and where tickets
   * are no times.
   */
  readonly newcomerTicket?: number | undefined;
  /**
   * For so long, in ms, the process may be silent without losing its place: it stands so far behind that it need
   * not look. Absent where it should look as soon as the lock may be free, and every SAFETY_MS.
   */
  readonly lookMs?: number | undefined;
  /**
   * For so long nothing is granted to anybody, whoever lets go, in ms: waiting for less is in vain.
   * Infinity: until somebody intervenes. Absent where that is not so.
   */
  readonly closedMs?: number | undefined;
}

/**
 * How long a waiter goes without asking at most, in ms: it covers every lost message. The holder's
 * end may come earlier.
 */
export const SAFETY_MS = 3_000;

/** How much longer a process may be silent for each one that is ahead of it, in ms: a crowd makes no more looks than that. */
export const LOOK_STEP_MS = 10;

/** How long a waiter is silent at most, in ms, however many are ahead of it. */
export const MAX_LOOK_MS = 30_000;

/** Of a process that missed so many of its looks the place belongs to nobody any more. */
export const DEAD_LOOKS = 3;

/** When the place of a process is dead that looks every SAFETY_MS, in ms. */
export const PLACE_DEAD_MS = DEAD_LOOKS * SAFETY_MS;

/** How long a free lock is kept for the first in line, in ms, before the next one gets the turn. */
export const TURN_MS = 300;

/** A process's place in the line for a lock. */
export interface Place {
  readonly process: string;
  /** That of its front waiter, as it was given or is estimated: with it a process returns to where it stood. */
  readonly ticket: string | undefined;
  /** That of the waiter behind the one who asks: a grant moves the place there. Absent where nobody is behind. */
  readonly nextTicket?: string | undefined;
}

/** One lock of a batch of renewals. */
export interface Renewal {
  readonly name: string;
  readonly token: string;
  readonly ttlMs: number;
}

/** `unknown`: no verdict (error or time-out); nothing may be concluded from it. */
export type RenewOutcome = 'renewed' | 'not-owner' | 'revoked' | 'unknown';

/** What a store answers to a release. No answer is a LockUnavailableError. */
export type ReleaseReply = 'released' | 'not-held';

/** A lock as the store sees it. */
export interface StoredLock {
  readonly token: string;
  /** undefined where the key never expires (a foreign client's mistake). */
  readonly remainingMs: number | undefined;
  /** The fence last minted under this name; undefined where none is kept (foreign holder). */
  readonly fence: bigint | undefined;
  /** In ms; undefined where not known. */
  readonly heldForMs: number | undefined;
  /** Processes that stand in line. */
  readonly queued: number;
  /** The token was revoked; its holder has neither let go nor expired yet. */
  readonly revoked: boolean;
}

/** One lock of several that are taken together. */
export interface TokenOf {
  readonly name: string;
  readonly token: string;
}

/**
 * All of them, in order, or the one that is in the way. `apart`: they are on different servers, which
 * have no common step; nothing was done.
 */
export type AcquireAllReply =
  | { readonly status: 'granted'; readonly fences: readonly bigint[]; readonly storeTimeMs: number }
  | { readonly status: 'apart' }
  | (Omit<BusyReply, 'ticket'> & { readonly name: string });

/**
 * `turn`: the lock is free and reserved for this process. `standby`: it is reserved for the process
 * before this one; look after TURN_MS. `revoked`: this process holds the lock by `token` and has to let go; a
 * message may be late, so it means no other token. Without one, every lease of that name is renewed now, which
 * shows it. `undefined` instead of a name: messages may have been lost, look at everything.
 */
export type WakeListener = (name: string | undefined, role: WakeRole, token?: string) => void;
export type WakeRole = 'turn' | 'standby' | 'revoked';

/** What a store promises beyond what every store must; docs/stores.md prints it as a table. */
export interface StoreCapabilities {
  /** Waiters of different processes are served in the order in which they came. */
  readonly fairWaiting: boolean;
  /**
   * Each waiter has a ticket of its own, so that they are served in the order of their arrival whichever process
   * they are of, within a round trip. Absent: a process goes to the tail after each grant.
   */
  readonly waiterTickets?: boolean;
  /** A grant counts only after more than one server has it. */
  readonly confirmedGrants: boolean;
  /** Fences go on rising after the store has lost all its data, while its clocks are right: they are a clock's microseconds. */
  readonly fencesSurviveLoss: boolean;
  /** TTLs, tickets and turns go by the store's clock, never by a client's. */
  readonly serverTime: boolean;
  /** A TTL is rounded up to a multiple of this, in ms; a shorter one than this is refused. */
  readonly ttlStepMs: number;
  /** A longer TTL than this, in ms, is refused. Absent where there is no such limit. */
  readonly longestTtlMs?: number | undefined;
}

/** The lives that a store can count, in ms. */
export type StoreLives = Pick<StoreCapabilities, 'ttlStepMs' | 'longestTtlMs'>;

/** A permit of a semaphore that somebody holds. */
export interface PermitHolder {
  readonly token: string;
  readonly fence: bigint;
  /** In ms. */
  readonly remainingMs: number;
  /** Which of several things it is; undefined where they are all the same. */
  readonly permit: string | undefined;
}

/**
 * What the engine needs of whatever it takes and keeps: a lock, or a semaphore's permit. Names are escaped (LockName.escaped), tokens are
 * the engine's. Every operation is one atomic step on the store, with the store's own clock.
 *
 * A store must guarantee:
 * - at most one token per name at any time (of a semaphore: as many as it has permits), until its TTL
 *   has passed on the store's clock;
 * - a repeated `tryAcquire` with the token that already holds the lock is granted again, with the
 *   full TTL (or more, if it has more left) and the same fence; fences rise strictly with every
 *   change of owner;
 * - `renew` never takes a vanished lock again and never shortens a key's life; in a batch every
 *   lock stands alone;
 * - `release` touches nothing but the token's own lock;
 * - a free lock with a line belongs to the head of the line: first come, first served among
 *   processes, by the store's clock; the head's turn is reserved for TURN_MS, and a head that misses
 *   it, or is dead (PLACE_DEAD_MS), holds nobody up for longer;
 * - trouble (connection, memory, rights, role, foreign data) is thrown as LockUnavailableError and
 *   is never mistaken for `busy`, `not-owner` or `not-held`.
 *
 * It need not bound the time of an operation: the engine does, and undoes what it gave up.
 */
export interface GrantStore {
  /** Short and stable, for logs and metrics: `memory`, `redis`. */
  readonly kind: string;
  /**
   * The store itself undoes what a try has left that was refused or not confirmed, and may still be at it
   * when the engine tries again. So every token is asked with once only, or the undoing would take a later
   * grant of the same token away. Absent: a token may be asked with again, which finds a grant whose answer
   * was lost.
   */
  readonly undoesTries?: boolean;
  /** With a place: where the lock is busy, the process stands in line for it from then on. */
  tryAcquire(name: string, token: string, ttlMs: number, place?: Place): Promise<AcquireReply>;
  /** One outcome per renewal, in order. Never rejects. */
  renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]>;
  /** Deletes the lock if `token` holds it, and wakes the head of the line. */
  release(name: string, token: string, process: string): Promise<ReleaseReply>;
  /** Gives the process's place in the line up, and with it a turn that may have been reserved for it. */
  leave(name: string, process: string): Promise<void>;
  /**
   * Calls `listener` when it is the process's turn; messages may be lost or late. Costs one
   * subscription per process. Returns what ends it.
   */
  onWake(process: string, listener: WakeListener): () => void;
  /** Calls `listener` after each reconnection or change of role. Returns what ends it. */
  onReconnect(listener: () => void): () => void;
}

/** The permits of semaphores that have the same number of them, held by up to so many tokens at once. */
export interface PermitStore extends GrantStore {
  /** Who holds permits, those that end first first. */
  holders(name: string): Promise<readonly PermitHolder[]>;
}

/** The port between the engine and a lock store. */
export interface LockStore extends GrantStore {
  readonly capabilities: StoreCapabilities;
  /** Checks what can be checked before the first lock. @throws with thing, cause and fix */
  start(): Promise<void>;
  /**
   * What may break locks although they work now, as far as the servers tell: a sentence each, with cause
   * and fix. Absent where there is nothing to ask. May take and release a lock of its own.
   * @throws LockOptionsError where locks cannot work; LockUnavailableError where nobody answers
   */
  check?(): Promise<readonly string[]>;
  /**
   * Takes all, or none: one try, one atomic step, nobody stands in line. Absent where the store never
   * can, `apart` where it cannot for these: the engine then takes one after the other.
   */
  tryAcquireAll?(locks: readonly TokenOf[], ttlMs: number): Promise<AcquireAllReply>;
  /**
   * A view of this store for semaphores of so many permits, which share nothing with the locks of the
   * same names. It counts every holder, whatever number of permits he knows, and grants while there
   * are fewer than its own. Absent where the store cannot.
   */
  semaphores?(permits: number): PermitStore;
  /** The lock as it is, or null where nobody holds it. */
  inspect(name: string): Promise<StoredLock | null>;
  /**
   * The locks that are held, page by page; one that is taken or released meanwhile may be missing or
   * come twice. Never stalls the store.
   */
  list(): AsyncIterable<readonly (StoredLock & { readonly name: string })[]>;
  /**
   * Takes the lock from `token`: it cannot be renewed any more, and is granted to nobody else before
   * it is released or its TTL has passed. Tells the process. False where that token does not hold it.
   */
  revoke(name: string, token: string, process: string): Promise<boolean>;
  /** Ends what the store itself opened; a client that was handed in stays open. */
  close(): Promise<void>;
}
