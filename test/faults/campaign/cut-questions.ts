import type { Journal, Operation } from './journal.js';

/** A question with an Idempotency-Key that had no answer since its replica was killed in the middle of it. */
export interface CutQuestion {
  readonly operation: Operation;
  readonly killedAt: number;
}

/** All of them: after each the same question must come to one conversation all the same. */
export function cutQuestions({ operations, outages }: Journal): CutQuestion[] {
  return operations.flatMap((operation): CutQuestion[] => {
    const { onceAsked, status, replica, sentAt, endedAt } = operation;
    if (onceAsked === undefined || status !== undefined) return [];
    const kill = outages.find(
      ({ why, replica: killed, from }) =>
        why === 'SIGKILL' && killed === replica && from >= sentAt && from <= endedAt,
    );
    return kill ? [{ operation, killedAt: kill.from }] : [];
  });
}
