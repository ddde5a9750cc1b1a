import { type Clock, SystemClock } from '../../core/clock.js';
import type {
  AcquireReply,
  LockStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoredLock,
  WakeListener,
} from '../../core/lock-store.js';
import { LockOptionsError } from '../../core/lock.errors.js';
import { EtcdConnection } from './etcd-connection.js';
import { EtcdGrants, heldForMs } from './etcd-grants.js';
import { EtcdKeys, leaseIdOf } from './etcd-keys.js';
import { EtcdLeases, LEASE_STEP_MS } from './etcd-leases.js';
import { EtcdLine } from './etcd-line.js';
import { lookAt, lookOf, storedKey, type StoredKey, valueOf } from './etcd-look.js';
import { type EtcdClientCertificate } from './etcd-credentials.js';
import { parseEndpoints } from './etcd-members.js';
import { EtcdRenewals } from './etcd-renewals.js';
import { EtcdWatches } from './etcd-watches.js';

const DEFAULT_CALL_TIMEOUT_MS = 1_000;
/** A process that is told of a revocation so late has learnt of it by its renewals. */
const MAILBOX_MS = 10_000;
const LIST_PAGE = 100;

/** What an etcd lock store is made of. */
export interface EtcdLockStoreOptions {
  /** All members of the cluster: `http://host:port`, or `https://host:port` with TLS. */
  readonly endpoints: readonly string[];
  /**
   * Shown to members with `https://` that ask for a certificate (`--client-cert-auth`); where etcd has users
   * its common name is one of them.
   */
  readonly clientCertificate?: EtcdClientCertificate | undefined;
  /**
   * Put before every name. `etcdctl lock <prefix><name>` and this store exclude each other.
   * @default 'lock:'
   */
  readonly prefix?: string | undefined;
  /**
   * How long one call to a member may take, in ms. Taking a lock needs two.
   * @default 1000
   */
  readonly callTimeoutMs?: number | undefined;
  /** @default the clock of the machine */
  readonly clock?: Clock | undefined;
}

/**
 * Locks in an etcd cluster (3.4 or later). A lock is a key under a lease of its own, `<prefix><name>/<token>`;
 * its fence is the revision that created it. Grants and fences survive whatever a majority of the members
 * survives. Two round trips to take a free lock, one to release it, each a write to a majority's disks.
 */
export class EtcdLockStore implements LockStore {
  readonly kind = 'etcd';
  readonly undoesTries = true;
  readonly capabilities = {
    fairWaiting: true,
    confirmedGrants: true,
    fencesSurviveLoss: false,
    serverTime: false,
    ttlStepMs: LEASE_STEP_MS,
  };
  private readonly clock: Clock;
  private readonly keys: EtcdKeys;
  private readonly connection: EtcdConnection;
  private readonly leases: EtcdLeases;
  private readonly watches: EtcdWatches;
  private readonly line: EtcdLine;
  private readonly renewals: EtcdRenewals;
  private readonly grants: EtcdGrants;
  private readonly reconnectListeners = new Set<() => void>();

  /** @throws LockOptionsError for an endpoint or a prefix that is none */
  constructor({
    endpoints,
    clientCertificate,
    prefix = 'lock:',
    callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
    clock = new SystemClock(),
  }: EtcdLockStoreOptions) {
    if (/[{}%\s\p{Cc}]/u.test(prefix)) {
      throw new LockOptionsError(
        `The lock prefix ${JSON.stringify(prefix)} holds braces, percent signs, white space or control characters; use plain characters such as "lock:".`,
      );
    }
    this.clock = clock;
    this.keys = new EtcdKeys(prefix);
    const cluster = { endpoints: parseEndpoints(endpoints), clientCertificate };
    this.connection = new EtcdConnection(cluster, callTimeoutMs, clock, () => {
      this.watches.restart();
      for (const listener of this.reconnectListeners) listener();
    });
    const { connection, keys } = this;
    this.leases = new EtcdLeases(connection, callTimeoutMs);
    this.watches = new EtcdWatches(connection, clock);
    this.line = new EtcdLine(connection, keys, this.leases, this.watches, clock);
    this.renewals = new EtcdRenewals(connection, keys, this.leases);
    this.grants = new EtcdGrants(connection, keys, this.leases, this.line, this.renewals, clock);
  }

  /** Loads the client library and looks at the version. A cluster that is away is no error here. */
  async start(): Promise<void> {
    await this.connection.open();
    const status = await this.connection.call('Maintenance/Status', {}).catch(() => undefined);
    if (!status) return;
    const [major = 0, minor = 0] = status.version.split('.').map(Number);
    if (major > 3 || (major === 3 && minor >= 4)) return;
    throw new LockOptionsError(
      `The etcd server is of version ${status.version}; the lock store needs 3.4 or later. Upgrade it, or choose another store.`,
    );
  }

  tryAcquire(name: string, token: string, ttlMs: number, place?: Place): Promise<AcquireReply> {
    return this.grants.tryAcquire({ name, token, ttlMs, place });
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    return this.renewals.renew(renewals);
  }

  /** Deletes the key, which shows whether it was there, and then its lease; what watches the key is woken. */
  async release(name: string, token: string): Promise<ReleaseReply> {
    const key = this.keys.lock(name, token);
    const request = {
      compare: [],
      success: [{ deleteRange: { key, prevKv: true } }],
      failure: [],
    } as const;
    const { responses } = await this.connection.call('KV/Txn', request, name);
    const [deleted] = responses[0]?.deleteRange?.prevKvs ?? [];
    if (!deleted) {
      // A try that is still under way must find no lease to take the lock with.
      await this.leases.revoke(leaseIdOf(token), name);
      return 'not-held';
    }
    // A foreign client's lease may keep more than this key.
    const isOurs = storedKey(deleted).sinceMs !== undefined;
    if (isOurs) this.leases.revokeInBackground(deleted.lease);
    return 'released';
  }

  leave(name: string, process: string): Promise<void> {
    return this.line.leave(name, process);
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const request = { compare: [], success: lookAt(this.keys, name), failure: [] };
    const { holder, line } = lookOf(await this.connection.call('KV/Txn', request, name));
    return holder ? this.stored(holder, line.length) : null;
  }

  /** By pages of a hundred keys, and a question about the lease of each. */
  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    const { rangeEnd, ...first } = this.keys.all;
    let { key } = first;
    let lastName: string | undefined;
    for (;;) {
      const page = await this.connection.call('KV/Range', { key, rangeEnd, limit: LIST_PAGE });
      const names = page.kvs.flatMap((kv) => this.keys.read(kv)?.name ?? []);
      // Several keys of one name: one that holds, and foreign clients that wait.
      const fresh = [...new Set(names)].filter((name) => name !== lastName);
      const all = await Promise.all(
        fresh.map(async (name) => ({ name, stored: await this.inspect(name) })),
      );
      yield all.flatMap(({ name, stored }) => (stored ? [{ name, ...stored }] : []));
      const last = page.kvs.at(-1);
      if (!page.more || !last) return;
      lastName = names.at(-1) ?? lastName;
      key = Buffer.concat([last.key, Buffer.of(0)]);
    }
  }

  /** The key stays, under the lease that its holder can no longer renew. Three round trips. */
  async revoke(name: string, token: string, process: string): Promise<boolean> {
    const key = this.keys.lock(name, token);
    const { kvs } = await this.connection.call('KV/Range', { key }, name);
    const stored = kvs[0] && storedKey(kvs[0]);
    if (!stored || stored.revoked) return false;
    const value = valueOf(stored.sinceMs ?? this.clock.now().wallMs, stored.lifeMs, true);
    const { id: lease } = await this.leases.grant('0', MAILBOX_MS, name);
    const request = {
      compare: [{ key, target: 'MOD', modRevision: stored.kv.modRevision }],
      success: [
        { put: { key, value, ignoreLease: true } },
        { put: { key: this.keys.mailbox(process), value: Buffer.from(`${name} ${token}`), lease } },
      ],
      failure: [],
    } as const;
    const { succeeded } = await this.connection.call('KV/Txn', request, name);
    if (!succeeded) this.leases.revokeInBackground(lease);
    return succeeded;
  }

  onWake(process: string, listener: WakeListener): () => void {
    return this.line.listen(process, listener);
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.watches.close();
    await this.leases.settled();
    this.connection.close();
  }

  private async stored(holder: StoredKey, queued: number): Promise<StoredLock> {
    const { token, fence, revoked, kv } = holder;
    return {
      token,
      fence,
      revoked,
      queued,
      remainingMs: await this.leases.remainingMs(kv.lease),
      heldForMs: heldForMs(holder, this.clock),
    };
  }
}
