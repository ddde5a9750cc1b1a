import { type Clock, SystemClock } from '../../core/clock.js';
import type {
  AcquireAllReply,
  AcquireReply,
  LockStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoredLock,
  TokenOf,
  WakeListener,
} from '../../core/lock-store.js';
import { LockOptionsError } from '../../core/lock.errors.js';
import {
  type AcquireAllRow,
  type AcquireRow,
  busyReply,
  fromMs,
  type HeldRow,
  storedLock,
  wholeMs,
} from './postgres-answers.js';
import type { PostgresPool } from './postgres-client.js';
import { checkPostgres } from './postgres-check.js';
import { PostgresConnection } from './postgres-connection.js';
import { PostgresListener } from './postgres-listener.js';
import { PostgresSchema } from './postgres-schema.js';

const LIST_PAGE = 500;
const DEFAULT_QUERY_TIMEOUT_MS = 5_000;
const DEFAULT_MAX_CONNECTIONS = 10;

/** What a PostgreSQL lock store is made of: `url` or `pool`. */
export interface PostgresLockStoreOptions {
  /** Where the database is: `postgres://user:password@host/database`. The store closes what it opens. */
  readonly url?: string | undefined;
  /**
   * A pool of the application's, which stays open. Steps on locks wait for a free connection of it, so it
   * should serve nothing slow; one connection of it is kept for messages to waiters.
   */
  readonly pool?: PostgresPool | undefined;
  /**
   * Where the tables are. Stores with different schemas share nothing.
   * @default 'doclock'
   */
  readonly schema?: string | undefined;
  /**
   * How many connections `url` may open.
   * @default 10
   */
  readonly maxConnections?: number | undefined;
  /**
   * How long a connection may be without an answer before it is given up, in ms.
   * @default 5000
   */
  readonly queryTimeoutMs?: number | undefined;
  /** @default the clock of the machine; only pauses between connections go by it */
  readonly clock?: Clock | undefined;
}

/**
 * Locks in a PostgreSQL database (12 or later): a row per lock with token, fence and expiry by the server's
 * clock; LISTEN and NOTIFY for hand-over. One round trip and one commit per operation. What a failover to a
 * standby without synchronous replication loses, it loses here, too; fences go on rising.
 */
export class PostgresLockStore implements LockStore {
  readonly kind = 'postgres';
  readonly capabilities = {
    fairWaiting: true,
    confirmedGrants: false,
    fencesSurviveLoss: true,
    serverTime: true,
    ttlStepMs: 1,
  };
  private readonly schema: PostgresSchema;
  private readonly connection: PostgresConnection;
  private readonly listener: PostgresListener;
  private readonly reconnectListeners = new Set<() => void>();

  /** @throws LockOptionsError for options that do not name one database */
  constructor({
    url,
    pool,
    schema = 'doclock',
    maxConnections = DEFAULT_MAX_CONNECTIONS,
    queryTimeoutMs = DEFAULT_QUERY_TIMEOUT_MS,
    clock = new SystemClock(),
  }: PostgresLockStoreOptions) {
    assertOneDatabase(url, pool);
    this.schema = new PostgresSchema(schema);
    const address = { url, pool, maxConnections, queryTimeoutMs };
    this.connection = new PostgresConnection(address, this.schema, () => {
      for (const listener of this.reconnectListeners) listener();
    });
    this.listener = new PostgresListener(this.connection, this.schema, clock);
  }

  /** Loads the client library. A server that is away is no error here: locks are unavailable until it comes. */
  async start(): Promise<void> {
    await this.connection.open();
  }

  async check(): Promise<readonly string[]> {
    return checkPostgres((sql) => this.connection.ask(undefined, sql, []));
  }

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    const [row] = await this.call<AcquireRow>(name, 'acquire($1, $2, $3, $4, $5)', [
      name,
      token,
      fromMs(ttlMs),
      place?.process,
      place?.ticket,
    ]);
    if (row?.granted) {
      return {
        status: 'granted',
        fence: BigInt(row.fence),
        storeTimeMs: wholeMs(row.time_us),
      };
    }
    const ticket = row?.ticket ?? undefined;
    return { ...busyReply(row), ticket: ticket === undefined ? ticket : String(ticket) };
  }

  async tryAcquireAll(locks: readonly TokenOf[], ttlMs: number): Promise<AcquireAllReply> {
    // The rows are locked in this order by everybody, so that no two wait for each other.
    const sorted = [...locks].sort((a, b) => (a.name < b.name ? -1 : 1));
    const [row] = await this.call<AcquireAllRow>(locks[0]?.name, 'acquire_all($1, $2, $3)', [
      sorted.map(({ name }) => name),
      sorted.map(({ token }) => token),
      fromMs(ttlMs),
    ]);
    if (!row || row.busy_name !== null) return { ...busyReply(row), name: row?.busy_name ?? '' };
    const fenceOf = new Map(
      sorted.map(({ name }, index) => [name, BigInt(row.fences[index] ?? '')] as const),
    );
    const fences = locks.map(({ name }) => fenceOf.get(name) ?? 0n);
    return { status: 'granted', fences, storeTimeMs: wholeMs(row.time_us) };
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    try {
      const [row] = await this.call<{ renew: RenewOutcome[] }>(undefined, 'renew($1, $2, $3)', [
        renewals.map(({ name }) => name),
        renewals.map(({ token }) => token),
        renewals.map(({ ttlMs }) => fromMs(ttlMs)),
      ]);
      return row?.renew ?? [];
    } catch {
      return renewals.map(() => 'unknown'); // one statement: all or none of them were renewed
    }
  }

  async release(name: string, token: string): Promise<ReleaseReply> {
    const [row] = await this.call<{ release: boolean }>(name, 'release($1, $2)', [name, token]);
    return row?.release ? 'released' : 'not-held';
  }

  async leave(name: string, process: string): Promise<void> {
    await this.call(name, 'leave($1, $2)', [name, process]);
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const [row] = await this.call<HeldRow>(name, 'held($1, 1, true)', [name]);
    return row ? storedLock(row) : null;
  }

  /** By the primary key, 500 rows a page. */
  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    let rows: HeldRow[];
    let last = '';
    do {
      rows = await this.call<HeldRow>(undefined, `held($1, ${LIST_PAGE}, false)`, [last]);
      yield rows.map((row) => ({ name: row.name, ...storedLock(row) }));
      last = rows.at(-1)?.name ?? last;
    } while (rows.length === LIST_PAGE);
  }

  async revoke(name: string, token: string, process: string): Promise<boolean> {
    const values = [name, token, process];
    const [row] = await this.call<{ revoke: boolean }>(name, 'revoke($1, $2, $3)', values);
    return row?.revoke ?? false;
  }

  onWake(process: string, listener: WakeListener): () => void {
    return this.listener.add(process, listener);
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.listener.close();
    await this.connection.close();
  }

  private call<R extends object>(
    name: string | undefined,
    call: string,
    values: readonly unknown[],
  ): Promise<R[]> {
    return this.connection.ask<R>(name, `select * from ${this.schema.quoted}.${call}`, values);
  }
}

function assertOneDatabase(url: string | undefined, pool: PostgresPool | undefined): void {
  const fix = `Pass { kind: 'postgres', url: 'postgres://user:password@host/database' }, or a pg Pool as "pool".`;
  if ((url === undefined) === (pool === undefined)) {
    const what = url === undefined ? 'neither a url nor a pool' : 'both a url and a pool';
    throw new LockOptionsError(`The lock store "postgres" was given ${what}. ${fix}`);
  }
  if (url !== undefined && !/^postgres(?:ql)?:\/\//.test(url)) {
    throw new LockOptionsError(
      `The url of the lock store "postgres" is not one of PostgreSQL. ${fix}`,
    );
  }
  if (pool !== undefined && typeof (pool as Partial<PostgresPool>).connect !== 'function') {
    throw new LockOptionsError(`The pool of the lock store "postgres" is not a pg Pool. ${fix}`);
  }
}
