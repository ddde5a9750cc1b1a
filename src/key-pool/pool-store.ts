import type { PermitStore } from '../lock/index.js';

/** What a pool's store counts and checks. */
export interface PoolTerms {
  /** The fingerprints of the members; at least one, each once. */
  readonly members: readonly string[];
  /** How many may hold one member at once. */
  readonly concurrency: number;
  /** Per member, in any minute; undefined: no limit of ours. Counted by grants. */
  readonly requestsPerMinute?: number | undefined;
  /** Per member, in any minute, as `spend` reports them; undefined: no limit of ours. */
  readonly tokensPerMinute?: number | undefined;
}

/** Why a member rests: it was told to, or its requests or tokens of the minute are used up. */
export type RestReason = 'told' | 'requests' | 'tokens';

/** A member as all replicas see it. */
export interface MemberState {
  readonly member: string;
  readonly inUse: number;
  /** How long it rests yet, in ms; 0: it does not. */
  readonly restsMs: number;
  /** Of several reasons the one that lasts longest; undefined: it does not rest. */
  readonly restsWhy: RestReason | undefined;
  /** Why it is out of use (such as "401"); undefined: it is not. */
  readonly quarantine: string | undefined;
}

/** A pool as all replicas see it, by the terms of the one that looks. */
export interface PoolState {
  /** How many may hold one member at once. */
  readonly concurrency: number;
  /** Processes that stand in line; one that died counts until its turn comes. */
  readonly queued: number;
  /** Its own members, in order. */
  readonly members: readonly MemberState[];
}

/**
 * The members of pools: a permit store whose permits are members, the least recently used first among
 * those that have room, neither rest nor are out of use, and have budget. What is told of a member holds
 * for all replicas that share the store, and success clears nothing of it. Time is the store's.
 */
export interface PoolStore extends PermitStore {
  readonly terms: PoolTerms;
  /** It rests for so long from now, in ms, unless it rests longer already. */
  rest(pool: string, member: string, forMs: number): Promise<void>;
  /** Out of use until it is readmitted. False where it was so already. */
  quarantine(pool: string, member: string, why: string): Promise<boolean>;
  /** Back in use at once, whatever was told of it. */
  readmit(pool: string, member: string): Promise<void>;
  /** So many tokens were used with it. */
  spend(pool: string, member: string, tokens: number): Promise<void>;
  inspect(pool: string): Promise<PoolState>;
  /** Ends what the store itself opened. */
  close(): void;
}

/** What is counted within a minute is counted in slots of this length, in ms, and leaves with its slot. */
export const SLOT_MS = 5_000;

/** The minute of the budgets, in ms. */
export const MINUTE_MS = 60_000;
