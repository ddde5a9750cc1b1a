import type {
  AcquireAllReply,
  AcquireReply,
  BusyReply,
  RenewOutcome,
  StoredLock,
  TokenOf,
} from '../../core/lock-store.js';
import { listOf, unknownAnswer } from './answer-shapes.js';

/** What acquire.lua answers: the fence of a plain grant, another grant, or why not. */
export type AcquireAnswer =
  | number
  | [granted: 1, fence: number, storeTimeMs: number, nextLookMs: number]
  | [busy: 0, remainingMs: number, heldForMs: number, queued: number, ...PlaceAnswer];

/** What a process is told of its place; nothing where it has none. */
export type PlaceAnswer = [] | [ticket: number, newcomerTicket: number, lookMs: number];

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

/** @throws LockUnavailableError for what acquire.lua never answers: it is neither granted nor busy */
export function acquireAnswer(answer: unknown, name: string): AcquireAnswer {
  if (typeof answer === 'number' && answer > 0) return answer;
  const [kind] = listOf(answer, ['number', 'number', 'number'], name);
  if (kind === 1) return answer as AcquireAnswer;
  if (kind !== 0) throw unknownAnswer(answer, name);
  listOf(answer, ['number', 'number', 'number', 'number'], name);
  return answer as AcquireAnswer;
}

/** @throws LockUnavailableError for what inspect.lua never answers */
export function inspectAnswer(answer: unknown, name: string): InspectAnswer | null {
  if (Array.isArray(answer) && answer.length === 0) return null;
  const [token, ...rest] = listOf(answer, ['string', 'number', 'number', 'number', 'number'], name);
  const [remainingMs, fence, heldForMs, queued] = rest;
  return [token, remainingMs, fence, heldForMs, queued];
}

export function acquireReply(answer: AcquireAnswer): AcquireReply {
  if (typeof answer === 'number') {
    const storeTimeMs = Math.floor(answer / 1000);
    return { status: 'granted', fence: BigInt(answer), storeTimeMs };
  }
  if (answer[0] === 1) {
    const [, fence, storeTimeMs, nextLookMs] = answer;
    return { status: 'granted', fence: BigInt(fence), storeTimeMs, nextLookMs: known(nextLookMs) };
  }
  const [, remainingMs, heldForMs, queued, ...place] = answer;
  return { ...busyReply(remainingMs, heldForMs, queued), ...placeOf(place) };
}

export function placeOf([ticket, newcomerTicket, lookMs]: PlaceAnswer) {
  if (ticket === undefined) return { ticket: undefined };
  return { ticket: String(ticket), newcomerTicket, lookMs: known(lookMs ?? -1) };
}

/** @throws LockUnavailableError for what acquire-all.lua never answers */
export function acquireAllReply(answer: unknown, locks: readonly TokenOf[]): AcquireAllReply {
  const first = locks[0]?.name;
  const [kind] = listOf(answer, ['number', 'number'], first);
  if (kind === 1) {
    const [, storeTimeMs, ...fences] = listOf(answer, ['number', 'number'], first);
    listOf(
      fences,
      locks.map(() => 'number'),
      first,
    );
    return { status: 'granted', fences: (fences as number[]).map(BigInt), storeTimeMs };
  }
  const form = ['number', 'number', 'number', 'number', 'number'] as const;
  const [, index, remainingMs, heldForMs, queued] = listOf(answer, form, first);
  const name = locks[index - 1]?.name;
  if (kind !== 0 || name === undefined) throw unknownAnswer(answer, first);
  return { ...busyReply(remainingMs, heldForMs, queued), name };
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

export function known(ms: number): number | undefined {
  return ms < 0 ? undefined : ms;
}
