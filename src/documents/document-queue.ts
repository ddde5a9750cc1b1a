import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type ExpressionBuilder, type RawBuilder, sql, type Transaction } from 'kysely';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { Database, type Schema, serverTime } from '../database/index.js';
import { QueueFullError } from './queue.errors.js';

/** A document that this process was given to work on. */
export interface ClaimedDocument {
  readonly id: string;
  /** How often it has been taken without coming to an end, this time included. */
  readonly attempts: number;
}

/** How full the queue is, in all replicas. */
export interface QueueLoad {
  readonly waiting: number;
  readonly underWay: number;
}

/** Where a document stands. */
export interface QueuePlace {
  /** Among those that wait; 1 is the next. */
  readonly position: number;
  /** How many come before it, those under way included. */
  readonly ahead: number;
  /** False where a process works on it, or is about to. */
  readonly isWaiting: boolean;
}

type OnQueue = ExpressionBuilder<Schema, 'document_queue'>;

// A claim is renewed at a third of that; shorter ones would not outlive a busy moment.
const MIN_CLAIM_MS = 2_000;
/** How many claims one statement renews. */
const RENEWALS = 500;

/**
 * The documents that are to be processed, in the order they were asked for: rows that outlive every
 * process. Who takes one has it for a time of the database's clock, and renews that; the claim of a
 * process that died runs out, and the next one takes the document. A claim says who begins, and keeps
 * nobody out: that is the lock's and the fence's matter. All methods throw DatabaseUnavailableError.
 */
@Injectable()
export class DocumentQueue {
  /** How long a claim lasts without being renewed, in ms. */
  readonly claimMs: number;
  private readonly owner: string;
  private readonly limit: number;
  private readonly now: RawBuilder<bigint>;

  constructor(
    private readonly database: Database,
    @Inject(APP_CONFIG) { instanceId, lock, documents }: AppConfig,
  ) {
    this.owner = `${instanceId}.${randomBytes(6).toString('hex')}`;
    this.claimMs = Math.max(lock.ttlMs, MIN_CLAIM_MS);
    this.limit = documents.queueLimit;
    this.now = serverTime(database);
  }

  /**
   * Has the document processed by whichever process is free, whatever becomes of this one. One that is in the
   * queue keeps its place. `within` writes in the same transaction, last.
   * @throws QueueFullError
   */
  async accept(
    id: string,
    within: (transaction: Transaction<Schema>) => Promise<void>,
  ): Promise<void> {
    await this.database.transaction(async (transaction) => {
      const added = await sql`
        insert into document_queue
          (document_id, ticket, owner, under_way, accepted, attempts, held_until)
        select ${id}, last + 1, null, 0, 1, 0, 0
        from (select coalesce(max(ticket), 0) as last, count(*) as length from document_queue) as queue
        where length < ${this.limit}
          or exists (select 1 from document_queue where document_id = ${id})
        on conflict (document_id) do update set
          accepted = 1,
          owner = case when document_queue.under_way = 1 then document_queue.owner end,
          held_until = case when document_queue.under_way = 1 then document_queue.held_until else 0 end
        returning document_id`.execute(transaction);
      if (added.rows.length === 0) throw new QueueFullError(this.limit);
      await within(transaction);
    });
  }

  /**
   * Stands in line for a caller of this process, which alone may take the document while it lives.
   * @returns false where the document is in the queue already
   * @throws QueueFullError
   */
  async wait(id: string): Promise<boolean> {
    const added = await sql`
      insert into document_queue
        (document_id, ticket, owner, under_way, accepted, attempts, held_until)
      select ${id}, last + 1, ${this.owner}, 0, 0, 0, ${this.now} + ${this.claimMs}
      from (select coalesce(max(ticket), 0) as last, count(*) as length from document_queue) as queue
      where length < ${this.limit}
      on conflict (document_id) do nothing
      returning document_id`.execute(this.database.kysely);
    if (added.rows.length > 0) return true;
    if ((await this.place(id)) === null) throw new QueueFullError(this.limit);
    return false;
  }

  /** Takes the first document that this process may work on; null where there is none. */
  async claim(): Promise<ClaimedDocument | null> {
    const { kysely, dialect } = this.database;
    const free = (is: OnQueue) =>
      is.or([
        is('held_until', '<=', this.now),
        is.and([is('under_way', '=', 0n), is('owner', '=', this.owner)]),
      ]);
    const first = kysely
      .selectFrom('document_queue')
      .select('document_id')
      .where(free)
      .orderBy('ticket')
      .orderBy('document_id')
      .limit(1);
    // Reading first: an idle process must not stand behind writers of the SQLite file.
    if ((await first.executeTakeFirst()) === undefined) return null;
    const row = await kysely
      .updateTable('document_queue')
      .set((is) => ({
        owner: this.owner,
        under_way: 1n,
        attempts: is('attempts', '+', 1n),
        held_until: this.fromNow(this.claimMs),
      }))
      .where('document_id', '=', () =>
        dialect === 'postgres' ? first.forUpdate().skipLocked() : first,
      )
      .returning(['document_id', 'attempts'])
      .executeTakeFirst();
    return row ? { id: row.document_id, attempts: Number(row.attempts) } : null;
  }

  /** Keeps those of the documents that this process has taken, or its callers wait for, for another `claimMs`. */
  async renew(ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length; from += RENEWALS) {
      await this.database.kysely
        .updateTable('document_queue')
        .set({ held_until: this.fromNow(this.claimMs) })
        .where('owner', '=', this.owner)
        .where('document_id', 'in', ids.slice(from, from + RENEWALS))
        .execute();
    }
  }

  /**
   * Lets others take a document, after `afterMs`. It goes back to its place; one that nobody was promised
   * leaves the queue.
   * @param isAttempt whether the work was begun
   */
  async giveBack(
    id: string,
    { afterMs, isAttempt }: { readonly afterMs: number; readonly isAttempt: boolean },
  ): Promise<void> {
    const mine = (is: OnQueue) =>
      is.and([is('document_id', '=', id), is('owner', '=', this.owner)]);
    await this.database.transaction(async (transaction) => {
      await transaction
        .deleteFrom('document_queue')
        .where(mine)
        .where('accepted', '=', 0n)
        .execute();
      await transaction
        .updateTable('document_queue')
        .set((is) => ({
          owner: null,
          under_way: 0n,
          attempts: isAttempt ? is.ref('attempts') : is('attempts', '-', 1n),
          held_until: this.fromNow(afterMs),
        }))
        .where(mine)
        .execute();
    });
  }

  /** Takes a document out that no run has taken out: see DocumentRunsRepository. */
  async remove(id: string): Promise<void> {
    await this.database.kysely.deleteFrom('document_queue').where('document_id', '=', id).execute();
  }

  /** Takes out what a caller of this process waits for, if it has not been taken to be worked on. */
  async withdraw(id: string): Promise<void> {
    await this.forsaken().where('document_id', '=', id).execute();
  }

  /** The same for all callers of this process. */
  async withdrawAll(): Promise<void> {
    await this.forsaken().execute();
  }

  /** Frees what earlier processes have taken: for one that knows that it is alone. */
  async freeAll(): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.deleteFrom('document_queue').where('accepted', '=', 0n).execute();
      await transaction
        .updateTable('document_queue')
        .set({ owner: null, under_way: 0n, held_until: 0n })
        .execute();
    });
  }

  /** Where a document stands; null where it is not in the queue. Costs a count of those before it. */
  async place(id: string): Promise<QueuePlace | null> {
    const { rows } = await sql<PlaceRow>`
      select ${this.isWaiting('it')} as is_waiting,
        (select count(*) from document_queue as other where ${before}) as ahead,
        (select count(*) from document_queue as other
          where ${before} and ${this.isWaiting('other')} = 1) as waiting_ahead
      from document_queue as it
      where it.document_id = ${id}`.execute(this.database.kysely);
    return rows[0] ? toPlace(rows[0]) : null;
  }

  /** Where those of the documents stand that are in the queue. For several it costs a look at the whole of it. */
  async places(ids: readonly string[]): Promise<ReadonlyMap<string, QueuePlace>> {
    const [id] = ids;
    if (id === undefined) return new Map();
    if (ids.length === 1) {
      const place = await this.place(id);
      return new Map(place ? [[id, place]] : []);
    }
    const { rows } = await sql<PlaceRow & { readonly document_id: string }>`
      select * from (
        select document_id, is_waiting,
          row_number() over (order by ticket, document_id) - 1 as ahead,
          sum(is_waiting) over (order by ticket, document_id) - is_waiting as waiting_ahead
        from (
          select document_id, ticket, ${this.isWaiting('it')} as is_waiting from document_queue as it
        ) as queue
      ) as places
      where document_id in (${sql.join(ids)})`.execute(this.database.kysely);
    return new Map(rows.map((row) => [row.document_id, toPlace(row)]));
  }

  /** How full the queue is. Costs a count. */
  async load(): Promise<QueueLoad> {
    const { rows } = await sql<{ readonly length: bigint; readonly waiting: bigint }>`
      select count(*) as length, coalesce(sum(${this.isWaiting('it')}), 0) as waiting
      from document_queue as it`.execute(this.database.kysely);
    const { length = 0n, waiting = 0n } = rows[0] ?? {};
    return { waiting: Number(waiting), underWay: Number(length) - Number(waiting) };
  }

  private forsaken() {
    return this.database.kysely
      .deleteFrom('document_queue')
      .where('owner', '=', this.owner)
      .where('under_way', '=', 0n)
      .where('accepted', '=', 0n);
  }

  private fromNow(ms: number): RawBuilder<bigint> {
    return sql<bigint>`${this.now} + ${ms}`;
  }

  /** 1 or 0. */
  private isWaiting(table: 'it' | 'other'): RawBuilder<bigint> {
    const [underWay, heldUntil] = [sql.ref(`${table}.under_way`), sql.ref(`${table}.held_until`)];
    return sql<bigint>`(case when ${underWay} = 1 and ${heldUntil} > ${this.now} then 0 else 1 end)`;
  }
}

const before = sql`(other.ticket, other.document_id) < (it.ticket, it.document_id)`;

interface PlaceRow {
  readonly is_waiting: bigint;
  readonly ahead: bigint;
  readonly waiting_ahead: bigint;
}

function toPlace({ is_waiting, ahead, waiting_ahead }: PlaceRow): QueuePlace {
  return {
    position: Number(waiting_ahead) + 1,
    ahead: Number(ahead),
    isWaiting: Number(is_waiting) === 1,
  };
}
