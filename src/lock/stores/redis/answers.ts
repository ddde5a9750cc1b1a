import type { AcquireReply, BusyReply, RenewOutcome, StoredLock } from '../../core/lock-store.js';

/** What acquire.lua answers: the fence of a plain grant, another grant, or why not. */
export type AcquireAnswer =
  | number
  | [granted: 1, fence: number, storeTimeMs: number]
  | [busy: 0, remainingMs: number, heldForMs: number, queued: number, ticket: string];

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

export function acquireReply(answer: AcquireAnswer): AcquireReply {
  if (typeof answer === 'number') {
    const storeTimeMs = Math.floor(answer / 1000);
    return { status: 'granted', fence: BigInt(answer), storeTimeMs };
  }
  if (answer[0] === 1) {
    return { status: 'granted', fence: BigInt(answer[1]), storeTimeMs: answer[2] };
  }
  const [, remainingMs, heldForMs, queued, ticket] = answer;
  const reply = busyReply(remainingMs, heldForMs, queued);
  return ticket === '' ? reply : { ...reply, ticket };
}

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
