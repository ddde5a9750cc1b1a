import { sql } from 'kysely';
import type { Database } from '../../../src/database/index.js';

/** One write that the database accepted, in the order in which it did, per name. */
export interface AcceptedWrite {
  readonly seq: number;
  /** ms since the epoch, with fractions; by the clock of the server or, in SQLite, of the writing process. */
  readonly at: number;
  /** Of the lock: `doc:<id>` or `job:<name>`. */
  readonly name: string;
  readonly fence: bigint;
  readonly source: string;
  /** Of a document. */
  readonly state: string | null;
}

/** Where guarded writes go, and what of a row tells the lock, the fence and the state. */
const watched = [
  ['documents', "'doc:' || new.id", 'new.fence', 'new.state'],
  ['passages', "'doc:' || new.document_id", 'new.generation', 'null'],
  ['writer_fences', "'job:' || new.name", 'new.fence', 'null'],
] as const;

/**
 * The database itself logs every write that it accepts, by triggers of the test's own. A write that is
 * rolled back leaves no line. The order of the lines of one name is that of the writes: on PostgreSQL
 * all writers hold the lock of the row (of the document; each transaction claims that first) while the
 * trigger numbers the line, on SQLite there is one writer at a time.
 */
export async function installAudit({ dialect, kysely }: Database): Promise<void> {
  const isPostgres = dialect === 'postgres';
  const key = isPostgres ? 'bigserial primary key' : 'integer primary key autoincrement';
  const real = isPostgres ? 'double precision' : 'real';
  const now = isPostgres
    ? 'extract(epoch from clock_timestamp()) * 1000'
    : "(julianday('now') - 2440587.5) * 86400000.0";
  const run = (text: string) => sql.raw(text).execute(kysely);
  await run(
    `create table audit (seq ${key}, at ${real}, name text, fence bigint, source text, state text)`,
  );
  for (const [table, name, fence, state] of watched) {
    const insert = `insert into audit (at, name, fence, source, state) values (${now}, ${name}, ${fence}, '${table}', ${state});`;
    if (isPostgres) {
      await run(
        `create function audit_${table}() returns trigger language plpgsql as $$ begin ${insert} return null; end $$`,
      );
      await run(
        `create trigger audit_${table} after insert or update on ${table} for each row execute function audit_${table}()`,
      );
    } else {
      for (const event of ['insert', 'update']) {
        await run(
          `create trigger audit_${table}_${event} after ${event} on ${table} begin ${insert} end`,
        );
      }
    }
  }
}

/** All lines so far, in order. */
export async function readAudit({ kysely }: Database): Promise<AcceptedWrite[]> {
  const { rows } = await sql<{
    seq: bigint;
    at: number;
    name: string;
    fence: bigint;
    source: string;
    state: string | null;
  }>`select * from audit order by seq`.execute(kysely);
  return rows.map((row) => ({ ...row, seq: Number(row.seq) }));
}
