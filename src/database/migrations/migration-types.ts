import { type RawBuilder, sql } from 'kysely';
import { type DatabaseDialect } from '../dialect.js';
import { type Integer } from '../schema.js';

/** What a migration may rely on; it names other tables in SQL or by `withTables`, as they were then. */
export interface MigrationSchema {
  schema_migrations: { name: string; applied_at: Integer };
}

/** The column types that the two databases spell differently. */
export interface MigrationTypes {
  /** Text compared byte by byte, so that ids sort alike under every locale. */
  readonly id: 'text' | RawBuilder<unknown>;
  readonly bytes: 'bytea' | 'blob';
}

/** The column types of one database. */
export function migrationTypes(dialect: DatabaseDialect): MigrationTypes {
  return dialect === 'postgres'
    ? { id: sql`text collate "C"`, bytes: 'bytea' }
    : { id: 'text', bytes: 'blob' };
}
