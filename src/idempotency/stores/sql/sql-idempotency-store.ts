import { type Kysely, sql } from 'kysely';
import {
  type Database,
  type IdempotencyRecordRow,
  type Schema,
  serverTime,
} from '../../../database/index.js';
import {
  BEGUN_LIFE_MS,
  type BeginRecord,
  type BeginReply,
  type FinishRecord,
  type IdempotencyRecord,
  type IdempotencyStore,
  type SweptRecords,
} from '../../idempotency-store.js';

/** How many expired records one sweep removes at most. */
const sweepLimit = 1_000;

/**
 * Records in the service's database: they live as long as what the requests change, and can be kept in
 * the very transaction that changes it (`recordAnswer`). Time is PostgreSQL's or, on
 * SQLite, the lock store's. All methods throw DatabaseUnavailableError.
 */
export class SqlIdempotencyStore implements IdempotencyStore {
  constructor(private readonly database: Database) {}

  async find(id: string): Promise<IdempotencyRecord | null> {
    return this.findAt(id, Date.now());
  }

  async begin(id: string, { fingerprint, fence, nowMs }: BeginRecord): Promise<BeginReply> {
    // A record that refused the writing may be dropped before it is looked at; then there is a way now.
    for (;;) {
      const now = serverTime(this.database, nowMs);
      const expires_at = sql<bigint>`${now} + ${BEGUN_LIFE_MS}`;
      const begun = { fingerprint, fence, status: null, headers: null, body: null, expires_at };
      const written = await this.database.kysely
        .insertInto('idempotency_records')
        .values({ id, ...begun })
        .onConflict((conflict) =>
          conflict
            .column('id')
            .doUpdateSet(begun)
            .where((is) =>
              is.or([
                is('idempotency_records.expires_at', '<=', now),
                is.and([
                  is('idempotency_records.status', 'is', null),
                  is('idempotency_records.fence', '<=', fence),
                  is('idempotency_records.fingerprint', '=', fingerprint),
                ]),
              ]),
            ),
        )
        .returning('id')
        .executeTakeFirst();
      if (written) return 'begun';
      const known = await this.findAt(id, nowMs);
      if (!known) continue;
      return !known.answer && known.fence > fence ? 'stale' : known;
    }
  }

  finish(id: string, record: FinishRecord): Promise<'kept' | 'stale'> {
    return this.finishIn(this.database.kysely, id, record);
  }

  /** The same inside the caller's transaction: kept if and when that commits. */
  async finishIn(
    transaction: Kysely<Schema>,
    id: string,
    { fence, answer, ttlMs, nowMs }: FinishRecord,
  ): Promise<'kept' | 'stale'> {
    const now = serverTime(this.database, nowMs);
    const { numUpdatedRows } = await transaction
      .updateTable('idempotency_records')
      .set({
        status: answer.status,
        headers: JSON.stringify(answer.headers),
        body: answer.body,
        expires_at: sql<bigint>`${now} + ${ttlMs}`,
      })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', 'is', null)
      .where('expires_at', '>', now)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) return 'kept';
    const known = await transaction
      .selectFrom('idempotency_records')
      .select('fence')
      .where('id', '=', id)
      .where('status', 'is not', null)
      .where('expires_at', '>', now)
      .executeTakeFirst();
    return known?.fence === fence ? 'kept' : 'stale';
  }

  async drop(id: string, fence: bigint): Promise<void> {
    await this.database.kysely
      .deleteFrom('idempotency_records')
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', 'is', null)
      .execute();
  }

  async sweep(nowMs: number): Promise<SweptRecords> {
    const now = serverTime(this.database, nowMs);
    const { numDeletedRows } = await this.database.kysely
      .deleteFrom('idempotency_records')
      .where('expires_at', '<=', now)
      .where('id', 'in', (query) =>
        query
          .selectFrom('idempotency_records')
          .select('id')
          .where('expires_at', '<=', now)
          .orderBy('expires_at')
          .limit(sweepLimit),
      )
      .executeTakeFirst();
    return { removed: Number(numDeletedRows), more: numDeletedRows >= BigInt(sweepLimit) };
  }

  private async findAt(id: string, nowMs: number): Promise<IdempotencyRecord | null> {
    const row = await this.database.kysely
      .selectFrom('idempotency_records')
      .selectAll()
      .where('id', '=', id)
      .where('expires_at', '>', serverTime(this.database, nowMs))
      .executeTakeFirst();
    return row ? toRecord(row) : null;
  }
}

function toRecord(row: IdempotencyRecordRow): IdempotencyRecord {
  const { fingerprint, fence, status, headers, body } = row;
  if (status === null) return { fingerprint, fence, answer: null };
  const named = JSON.parse(headers ?? '{}') as Record<string, string>;
  return { fingerprint, fence, answer: { status: Number(status), headers: named, body } };
}
