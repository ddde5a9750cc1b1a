import { type RawBuilder, sql } from 'kysely';
import { type DatabaseDialect } from './dialect.js';

/**
 * The time in ms since the epoch, as an expression for a statement: what times of several replicas are compared
 * by. PostgreSQL has a clock of its own. SQLite has none but the machine's, which all who share the file have in
 * common; a better one that the caller knows is `sqliteMs`.
 */
export function serverTime(
  { dialect }: { readonly dialect: DatabaseDialect },
  sqliteMs?: number,
): RawBuilder<bigint> {
  if (dialect === 'postgres') {
    return sql<bigint>`(extract(epoch from statement_timestamp()) * 1000)::bigint`;
  }
  return sqliteMs === undefined
    ? sql<bigint>`cast(unixepoch('subsec') * 1000 as integer)`
    : sql<bigint>`${BigInt(Math.floor(sqliteMs))}`;
}
