import assert from 'node:assert/strict';
import {
  type AcquireAllReply,
  type AcquireReply,
  type LockStore,
  type Place,
} from '../../core/lock-store.js';

/** What the contract needs to know of the store under test. */
export interface StoreUnderTest {
  readonly store: LockStore;
  /** Lets `ms` milliseconds pass for the store: really, or by moving its clock. */
  readonly elapse: (ms: number) => Promise<void>;
  /**
   * For stores where a TTL is not over when it has elapsed: where a server looks for what has expired now
   * and then, or where locks live as long as their client's session.
   * @default the store itself, whose locks end when `elapse` has let their TTL pass
   */
  readonly mortal?: (ttlMs: number) => Promise<MortalClient>;
}

/** A client of the same servers whose locks, taken with one TTL, all come to their end at once. */
export interface MortalClient {
  readonly store: LockStore;
  /** Resolves when all of them have ended, and no other lock has. */
  readonly end: () => Promise<void>;
}

/** One promise of the contract. Run it under any test runner: it rejects when the store breaks it. */
export interface ContractCase {
  readonly promise: string;
  readonly verify: (under: StoreUnderTest) => Promise<void>;
}

export const PROCESS = 'contract';
export const TTL_MS = 30_000;
export const SHORT_TTL_MS = 300;

/** The shortest TTL that is worth waiting for, in ms. */
export function shortTtlMs({ store }: StoreUnderTest): number {
  return Math.max(SHORT_TTL_MS, store.capabilities.ttlStepMs);
}

/** Who takes locks with `shortTtlMs` that nobody renews. */
export async function mortalClient(under: StoreUnderTest): Promise<MortalClient> {
  const ttlMs = shortTtlMs(under);
  const { store, elapse } = under;
  return under.mortal?.(ttlMs) ?? { store, end: () => elapse(ttlMs + 20) };
}

let names = 0;
let tokens = 0;
export const newName = (rest = '') =>
  `contract:${process.pid}-${Date.now()}-${(names += 1)}${rest}`;
export const newPlace = (): Place => ({ process: `process-${(tokens += 1)}`, ticket: undefined });
export const newToken = () => `contract-token-${(tokens += 1)}.process.label`;

export function fenceOf(reply: AcquireReply): bigint {
  if (reply.status !== 'granted') assert.fail('busy instead of granted');
  return reply.fence;
}

export function fencesOf(reply: AcquireAllReply): readonly bigint[] {
  return reply.status === 'granted' ? reply.fences : [];
}

export function busy(reply: AcquireReply): Extract<AcquireReply, { status: 'busy' }> {
  if (reply.status !== 'busy') assert.fail('granted to a second holder');
  return reply;
}
