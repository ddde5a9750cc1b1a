import { type RawBuilder, sql } from 'kysely';
import { type DatabaseDialect } from './dialect.js';

/**
 * The time in ms since the epoch, as an expression for a statement: PostgreSQL's own clock, so that replicas
 * whose clocks differ agree. SQLite has no clock of its own: there it is `elseMs`.
 */
export function serverTime(
  { dialect }: { readonly dialect: DatabaseDialect },
  elseMs = Date.now(),
): RawBuilder<bigint> {
  return dialect === 'postgres'
    ? sql<bigint>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
    : sql<bigint>`${BigInt(Math.floor(elseMs))}`;
}
