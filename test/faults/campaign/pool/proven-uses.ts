import { fingerprintOf } from '../../../../src/key-pool/index.js';
import type { CutQuestion } from '../cut-questions.js';
import type { Journal, Operation } from '../journal.js';
import type { Testimony } from '../testimony.js';
import type { KeyUse } from './key-rule.js';
import type { ModelRequest } from './model-server.js';

/** A lease is granted a moment before its engine knows, and the model has its request; on a busy machine too. */
const TOLERANCE_MS = 3_000;

/** The leases of keys, as the engines of the replicas believed in them: up to their release, loss or end. */
export function leasedUses(testimony: readonly Testimony[]): KeyUse[] {
  const leases = new Map<string, Testimony[]>();
  for (const one of testimony) {
    if (one.permit === undefined) continue;
    const id = `${one.permit}#${one.fence} of ${one.process}`;
    leases.set(id, [...(leases.get(id) ?? []), one]);
  }
  return [...leases].map(([id, said]) => {
    const [{ at: from, permit: key = '' }] = said as [Testimony];
    const left = said.find(({ kind }) => kind === 'left')?.at ?? Infinity;
    const held = said.filter(({ kind }) => kind === 'held');
    const until = Math.min(left, Math.max(...held.map((one) => one.until)));
    return { id, key, askedAt: from - TOLERANCE_MS, from, until };
  });
}

/**
 * What is proven of keys, from outside the replicas. A request whose answer the service has given to its own
 * client was not aborted, so its lease had not ended when the answer's end was read; a lease is never taken
 * again, so it was held since the request. The use begins when the model's server has the request, and ends
 * before that sends its answer: both make it shorter than it was. What a replica had under way when it was
 * frozen or ended is proven up to there: its lease may end unheard. Of requests that were aborted, failed or
 * refused nothing is proven.
 */
export function provenUses(requests: readonly ModelRequest[], journal: Journal): KeyUse[] {
  const given = new Set(journal.operations.map(textOf));
  return requests.flatMap(({ replica, key, question, text, receivedAt, endedAt }): KeyUse[] => {
    if (text === undefined || !given.has(text)) return [];
    const outages = journal.outages.filter(
      (outage) => outage.replica === replica && outage.from < endedAt && outage.to > receivedAt,
    );
    const until = Math.min(endedAt, ...outages.map(({ from }) => from));
    if (until <= receivedAt) return [];
    return [
      {
        id: `"${question}" of ${replica}`,
        key: fingerprintOf(key),
        askedAt: receivedAt - TOLERANCE_MS,
        from: receivedAt,
        until,
      },
    ];
  });
}

/** What the model said in an answer of the service. */
function textOf({ onceAsked, status, body }: Operation): string | undefined {
  return onceAsked !== undefined && status === 201
    ? (body as { answer: { text: string } }).answer.text
    : undefined;
}

/** Of the questions that a kill -9 cut, those that the model had answered before. */
export function cutAfterAnswer(
  requests: readonly ModelRequest[],
  cut: readonly CutQuestion[],
): readonly CutQuestion[] {
  return cut.filter(({ operation: { onceAsked, replica, sentAt }, killedAt }) =>
    requests.some(
      (request) =>
        request.question === onceAsked &&
        request.replica === replica &&
        request.text !== undefined &&
        request.receivedAt >= sentAt &&
        request.endedAt <= killedAt,
    ),
  );
}
