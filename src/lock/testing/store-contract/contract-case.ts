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
}

/** One promise of the contract. Run it under any test runner: it rejects when the store breaks it. */
export interface ContractCase {
  readonly promise: string;
  readonly verify: (under: StoreUnderTest) => Promise<void>;
}

export const PROCESS = 'contract';
export const TTL_MS = 30_000;
export const SHORT_TTL_MS = 300;

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
