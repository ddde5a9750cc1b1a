import type { BusyReply, RenewOutcome, StoredLock } from '../../core/lock-store.js';

/** What acquire.lua answers. */
export type AcquireAnswer = [
  granted: 0 | 1,
  fenceOrRemainingMs: number,
  storeTimeOrHeldForMs: number,
  queued: number,
  ticket: string,
];

/** What inspect.lua answers for a lock that is held. */
export type InspectAnswer = [
  token: string,
  remainingMs: number,
  fence: number,
  heldForMs: number,
  queued: number,
];

/** What renew.lua answers, by number. */
export const renewOutcomes: readonly RenewOutcome[] = ['not-owner', 'renewed', 'revoked'];

const REVOKED = 'revoked.';

/** Negative numbers stand for "not known" in the scripts. */
export function busyReply(remainingMs: number, heldForMs: number, queued: number): BusyReply {
  return {
    status: 'busy',
    remainingMs: known(remainingMs),
    heldForMs: known(heldForMs),
    queued,
    ticket: undefined,
  };
}

export function storedLock(answer: InspectAnswer): StoredLock {
  const [value, remainingMs, fence, heldForMs, queued] = answer;
  const revoked = value.startsWith(REVOKED);
  return {
    token: revoked ? value.slice(REVOKED.length) : value,
    remainingMs: known(remainingMs),
    fence: fence < 0 ? undefined : BigInt(fence),
    heldForMs: known(heldForMs),
    queued,
    revoked,
  };
}

function known(ms: number): number | undefined {
  return ms < 0 ? undefined : ms;
}
