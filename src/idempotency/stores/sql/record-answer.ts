import { type Transaction } from 'kysely';
import { type Schema } from '../../../database/index.js';
import { IdempotencyMarkLostError } from '../../idempotency.errors.js';
import { IdempotentRun } from '../../idempotent-run.js';
import { SqlIdempotencyStore } from './sql-idempotency-store.js';

/**
 * Keeps the answer of the idempotent request that is under way in the very transaction of its work: both
 * happen or neither, so that no crash can repeat the work. Status and headers are those that the response
 * has now; `body` is what the handler will return. Does nothing for a request without a key, for an
 * answer that cannot be kept, and where the records are not in this database (then they are written
 * after the work). Call it last, for the row it locks is what repetitions wait for. One statement.
 * @throws IdempotencyMarkLostError when another run has begun: the transaction must not commit
 */
export async function recordAnswer(transaction: Transaction<Schema>, body: unknown): Promise<void> {
  const run = IdempotentRun.current();
  const answer = run?.answer(body);
  if (!run || !answer) return;
  const { store, id, fence, ttlMs, nowMs } = run.terms;
  if (!(store instanceof SqlIdempotencyStore)) return;
  const record = { fence, answer, ttlMs, nowMs: nowMs() };
  if ((await store.finishIn(transaction, id, record)) === 'stale') {
    throw new IdempotencyMarkLostError();
  }
  run.isRecorded = true;
}
