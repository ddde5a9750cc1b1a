import { type GuardedTarget, StaleFenceError } from './database.errors.js';

/** What Kysely answers to a write: how many rows it has changed. */
interface WriteResult {
  readonly numUpdatedRows?: bigint;
  readonly numDeletedRows?: bigint;
  readonly numInsertedOrUpdatedRows?: bigint | undefined;
}

/** How many rows a write has changed, whatever its kind. */
function changedRows(result: WriteResult): bigint {
  return result.numUpdatedRows ?? result.numDeletedRows ?? result.numInsertedOrUpdatedRows ?? 0n;
}

/**
 * Runs a write whose condition holds `fence <= :fence` (that condition is the caller's to write, and
 * so is setting the new fence), and refuses the stale writer.
 * @throws StaleFenceError when the write changed no row
 */
export async function guardedWrite(
  target: GuardedTarget,
  write: { executeTakeFirst(): Promise<WriteResult | undefined> },
): Promise<void> {
  const result = await write.executeTakeFirst();
  if (result === undefined || changedRows(result) === 0n) throw new StaleFenceError(target);
}
