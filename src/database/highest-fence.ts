import { type Database } from './database.js';

/**
 * The tables whose guarded writes compare fences. What else has a fence was written under one of these, in
 * the same transaction, or is compared with nothing.
 */
export const FENCED_TABLES = [
  'documents',
  'writer_fences',
  'tick_marks',
  'idempotency_records',
] as const;

/**
 * The highest fence that a later write is compared with; 0 where there is none. Goes through the rows of
 * each table. @throws DatabaseUnavailableError
 */
export async function highestFence({ kysely }: Database): Promise<bigint> {
  let highest = 0n;
  for (const table of FENCED_TABLES) {
    const { fence } = await kysely
      .selectFrom(table)
      .select(({ fn }) => fn.max<bigint | null>('fence').as('fence'))
      .executeTakeFirstOrThrow();
    if (fence !== null && fence > highest) highest = fence;
  }
  return highest;
}
