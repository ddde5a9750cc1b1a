import type { AcquireReply, BusyReply, ReleaseReply, RenewOutcome } from '../../core/lock-store.js';
import { median, quorumOf } from './holders.js';
import { type Answers, count, valuesOf } from './settle-early.js';

/** `won`: a quorum has granted it. `busy`: a quorum answers, and too few grant. `none`: too few answer. */
export type RoundVerdict = 'won' | 'busy' | 'none';

/** Whether a round of tries is decided. */
export function roundVerdict(answers: Answers<AcquireReply>): RoundVerdict | undefined {
  const quorum = quorumOf(answers.all.length);
  const granted = count(answers, ({ status }) => status === 'granted');
  if (granted >= quorum) return 'won';
  if (granted + answers.pending >= quorum) return undefined;
  const answered = valuesOf(answers.all).length;
  if (answered >= quorum) return 'busy';
  return answered + answers.pending >= quorum ? undefined : 'none';
}

/** Whether a quorum says yes (true), or can no longer do so (false). */
export function agreed(answers: Answers<boolean>): boolean | undefined {
  const quorum = quorumOf(answers.all.length);
  const yes = count(answers, (value) => value);
  if (yes >= quorum) return true;
  return yes + answers.pending < quorum ? false : undefined;
}

/** What a quorum says of a deletion; `unknown` where there is none. */
export function releaseVerdict(
  answers: Answers<ReleaseReply>,
): ReleaseReply | 'unknown' | undefined {
  const nodes = answers.all.length;
  if (count(answers, (reply) => reply === 'released') >= quorumOf(nodes)) return 'released';
  if (count(answers, (reply) => reply === 'not-held') > nodes - quorumOf(nodes)) return 'not-held';
  return answers.pending === 0 ? 'unknown' : undefined;
}

/** The outcomes of a batch of renewals, as soon as each is decided. */
export function renewVerdict(
  answers: Answers<readonly RenewOutcome[]>,
  size: number,
): readonly RenewOutcome[] | undefined {
  const batches = valuesOf(answers.all);
  const nodes = answers.all.length;
  const outcomes = Array.from({ length: size }, (_, index) =>
    renewOutcome(
      batches.map((batch) => batch[index] ?? 'unknown'),
      nodes,
    ),
  );
  const isDecided = answers.pending === 0 || outcomes.every((outcome) => outcome !== 'unknown');
  return isDecided ? outcomes : undefined;
}

function renewOutcome(outcomes: readonly RenewOutcome[], nodes: number): RenewOutcome {
  const times = (...wanted: RenewOutcome[]) =>
    outcomes.filter((outcome) => wanted.includes(outcome)).length;
  if (times('renewed') >= quorumOf(nodes)) return 'renewed';
  if (times('not-owner', 'revoked') <= nodes - quorumOf(nodes)) return 'unknown';
  return times('revoked') > 0 ? 'revoked' : 'not-owner';
}

/** What a try is told that did not get a quorum: when enough nodes will be free, if nobody renews. */
export function busyReplyOf(answers: Answers<AcquireReply>): BusyReply {
  const values = valuesOf(answers.all);
  const busy = values.filter((reply) => reply.status === 'busy');
  const free = values.length - busy.length;
  const lives = busy.map(({ remainingMs }) => remainingMs ?? Infinity).sort((a, b) => a - b);
  const needed = quorumOf(answers.all.length) - free;
  const remainingMs = lives[needed - 1] ?? Infinity;
  const held = busy.flatMap(({ heldForMs }) => (heldForMs === undefined ? [] : [heldForMs]));
  return {
    status: 'busy',
    remainingMs: remainingMs === Infinity ? undefined : remainingMs,
    heldForMs: median(held),
    queued: 0,
    ticket: undefined,
  };
}

/** The grants among the answers of a round. */
export function grantsOf({
  all,
}: Answers<AcquireReply>): Extract<AcquireReply, { status: 'granted' }>[] {
  return valuesOf(all).filter((reply) => reply.status === 'granted');
}
