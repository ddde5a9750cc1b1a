import { type RawBuilder, sql } from 'kysely';
import { type DatabaseDialect } from './dialect.js';

/**
 * The database's own clock inside a statement, in ms since the epoch: what times of several replicas are
 * compared by. SQLite has none but the machine's, which all who share the file have in common.
 */
export function databaseTimeMs(dialect: DatabaseDialect): RawBuilder<bigint> {
  return dialect === 'postgres'
    ? sql<bigint>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<bigint>`cast(unixepoch('subsec') * 1000 as integer)`;
}
