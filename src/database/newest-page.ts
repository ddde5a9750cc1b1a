import { type SelectQueryBuilder, sql } from 'kysely';
import { decodeCursor, encodeCursor } from './page-cursor.js';
import { type Schema } from './schema.js';

/** Which part of a list. */
export interface PagePart {
  readonly limit: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Part of a list. */
export interface RowPage<Row> {
  readonly rows: readonly Row[];
  /** Gives the next page; null at the end. */
  readonly nextCursor: string | null;
}

/**
 * Up to `limit` rows of the query, newest first by the column `time` (ms since the epoch) and then by
 * `id`. Following the cursors gives every row that was there all the time exactly once. One query.
 * @throws InvalidCursorError
 */
export async function newestPage<
  Tables extends keyof Schema,
  Time extends string,
  Row extends { id: string } & Record<Time, bigint>,
>(
  query: SelectQueryBuilder<Schema, Tables, Row>,
  time: Time,
  { limit, cursor }: PagePart,
): Promise<RowPage<Row>> {
  const [at, id] = [sql.ref(time), sql.ref('id')];
  let part = query
    .orderBy(at, 'desc')
    .orderBy(id, 'desc')
    .limit(limit + 1);
  if (cursor !== undefined) {
    const before = decodeCursor(cursor);
    part = part.where(sql<boolean>`(${at}, ${id}) < (${BigInt(before.createdAt)}, ${before.id})`);
  }
  const found = (await part.execute()) as Row[];
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    rows,
    nextCursor: hasMore ? encodeCursor({ createdAt: Number(last[time]), id: last.id }) : null,
  };
}
