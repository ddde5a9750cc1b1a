import {
  type AcquireReply,
  type LockStore,
  LockUnavailableError,
  type ReleaseReply,
  type Renewal,
  type RenewOutcome,
  type StoredLock,
  type WakeListener,
} from '../../../src/lock/index.js';
import type { Pool, PoolClient, QueryResult } from 'pg';

const PAGE = 500;
const NOW = 'clock_timestamp()'; // now() would be the time at which the transaction began
const ENDS = `${NOW} + $3 * interval '1 millisecond'`;
const MICROSECONDS = `(extract(epoch from ${NOW}) * 1000000)::bigint`;
const SEEN = `select *, extract(epoch from ends - ${NOW}) * 1000 as remaining_ms,
  extract(epoch from ${NOW} - since) * 1000 as held_ms from locks where ends > ${NOW}`;

/** Locks in a table of PostgreSQL. It keeps no line: whoever asks first when a lock is free has it. */
export class PostgresLockStore implements LockStore {
  readonly kind = 'postgres';
  readonly capabilities = {
    fairWaiting: false,
    confirmedGrants: false,
    fencesSurviveLoss: true, // they are minted from the clock
    serverTime: true,
    ttlStepMs: 1,
  };

  private readonly listeners = new Set<WakeListener>();
  private connection: PoolClient | undefined;

  constructor(private readonly pool: Pool) {}

  async start(): Promise<void> {
    await this.ask(undefined, [
      `create table if not exists locks (name text primary key, token text not null, fence bigint not null,
        since timestamptz not null, ends timestamptz not null, revoked boolean not null)`,
    ]);
  }

  /** The row stays when a lock is let go, for its fence. */
  async tryAcquire(name: string, token: string, ttlMs: number): Promise<AcquireReply> {
    const { rows } = await this.ask(name, [
      `insert into locks as l values ($1, $2, ${MICROSECONDS}, ${NOW}, ${ENDS}, false)
        on conflict (name) do update set token = $2, since = excluded.since, revoked = false,
          ends = greatest(l.ends, excluded.ends), -- a repeated try never shortens a life
          fence = case when l.token = $2 and l.ends > ${NOW} then l.fence
            else greatest(l.fence + 1, excluded.fence) end
        where l.ends <= ${NOW} or (l.token = $2 and not l.revoked)
        returning fence, ${MICROSECONDS} as time`,
      name,
      token,
      ttlMs,
    ]);
    if (rows[0]) {
      const { fence, time } = rows[0];
      return { status: 'granted', fence: BigInt(fence), storeTimeMs: Math.floor(time / 1000) };
    }
    const holder = await this.inspect(name);
    const remainingMs = holder ? holder.remainingMs : 0; // it has just ended
    return {
      status: 'busy',
      remainingMs,
      heldForMs: holder?.heldForMs,
      queued: 0,
      ticket: undefined,
    };
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    return Promise.all(renewals.map((one) => this.renewOne(one).catch(() => 'unknown' as const)));
  }

  async release(name: string, token: string): Promise<ReleaseReply> {
    if (!(await this.change(name, `set ends = ${NOW}`, token))) return 'not-held';
    await this.ask(name, [`select pg_notify('locks', $1)`, name]).catch(
      () => 'they look by themselves',
    );
    return 'released';
  }

  async leave(): Promise<void> {}

  async inspect(name: string): Promise<StoredLock | null> {
    const { rows } = await this.ask(name, [`${SEEN} and name = $1`, name]);
    return rows[0] ? stored(rows[0]) : null;
  }

  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    for (let last = ''; ;) {
      const sql = `${SEEN} and name > $1 order by name limit ${PAGE}`;
      const { rows } = await this.ask(undefined, [sql, last]);
      yield rows.map((row) => ({ name: String(row.name), ...stored(row) }));
      if (rows.length < PAGE) return;
      last = String(rows.at(-1)?.name);
    }
  }

  revoke(name: string, token: string): Promise<boolean> {
    return this.change(name, 'set revoked = true', token);
  }

  /** Without a line it is everybody's turn. Takes one connection of the pool. */
  onWake(_process: string, listener: WakeListener): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) void this.listen();
    return () => this.listeners.delete(listener);
  }

  /** Each statement finds a connection of its own: there is no reconnection to tell of. */
  onReconnect(): () => void {
    return () => undefined;
  }

  /** The pool was handed in, and stays open. */
  async close(): Promise<void> {
    this.listeners.clear();
    this.connection?.release(true);
    this.connection = undefined;
  }

  private async listen(): Promise<void> {
    try {
      const connection = await this.pool.connect();
      this.connection = connection;
      connection.on('notification', ({ payload }) => this.tell(payload));
      connection.on('error', () => connection.release(true));
      connection.on('end', () => this.listenAgain());
      await connection.query('listen locks');
      this.tell(undefined); // messages may have been missed
    } catch {
      this.listenAgain();
    }
  }

  private listenAgain(): void {
    const again = () => void (this.listeners.size > 0 && this.listen());
    setTimeout(again, 1_000).unref();
  }

  private tell(name: string | undefined): void {
    for (const listener of this.listeners) listener(name, 'turn');
  }

  private async renewOne({ name, token, ttlMs }: Renewal): Promise<RenewOutcome> {
    const change = `set ends = greatest(ends, ${ENDS})`;
    if (await this.change(name, change, token, 'and not revoked', ttlMs)) return 'renewed';
    const holder = await this.inspect(name);
    return holder?.token === token && holder.revoked ? 'revoked' : 'not-owner';
  }

  /** Whether the token held the lock, and was the one to change it. */
  private async change(name: string, set: string, token: string, and = '', ...more: number[]) {
    const sql = `update locks ${set} where name = $1 and token = $2 and ends > ${NOW} ${and}`;
    return (await this.ask(name, [sql, name, token, ...more])).rowCount === 1;
  }

  /** Trouble is never a verdict. */
  private async ask(
    name: string | undefined,
    [sql, ...values]: [sql: string, ...values: (string | number)[]],
  ): Promise<QueryResult> {
    try {
      return await this.pool.query(sql, values);
    } catch (cause) {
      throw new LockUnavailableError(name, `PostgreSQL: ${(cause as Error).message}`, { cause });
    }
  }
}

function stored(row: QueryResult['rows'][number]): StoredLock {
  return {
    token: row.token,
    remainingMs: Number(row.remaining_ms),
    fence: BigInt(row.fence),
    heldForMs: Number(row.held_ms),
    queued: 0,
    revoked: row.revoked,
  };
}
