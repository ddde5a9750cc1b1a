import { type Clock, SystemClock } from '../../core/clock.js';
import type {
  AcquireReply,
  LockStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoreCapabilities,
  StoredLock,
  WakeListener,
} from '../../core/lock-store.js';
import { LockOptionsError } from '../../core/lock.errors.js';
import { heldForMs, ZookeeperGrants } from './zookeeper-grants.js';
import { ZookeeperLine } from './zookeeper-line.js';
import { readData, writeData, ZookeeperNodes } from './zookeeper-nodes.js';
import { ZookeeperSession } from './zookeeper-session.js';

const DEFAULT_TTL_MS = 30_000;
const DEFAULT_CALL_TIMEOUT_MS = 1_000;
/** A server tells the leader which sessions it has heard twice a tick: half of the default tick of 2 s. */
const HEARD_LATE_MS = 1_000;
const LIST_PAGE = 100;

/** What a ZooKeeper lock store is made of. */
export interface ZookeeperLockStoreOptions {
  /** All servers of the ensemble: `host:port,host:port`. */
  readonly servers: string;
  /**
   * The longest TTL of a lock, in ms: the session, which all locks of a process live as long as, is made
   * a second longer. The servers bound it (by default from 4 s to 40 s).
   * @default 30000
   */
  readonly ttlMs?: number | undefined;
  /**
   * Put before every name.
   * @default 'lock:'
   */
  readonly prefix?: string | undefined;
  /**
   * How long one call to a server may take, in ms. Taking a lock needs four.
   * @default 1000
   */
  readonly callTimeoutMs?: number | undefined;
  /** @default the clock of the machine */
  readonly clock?: Clock | undefined;
}

/**
 * Locks in a ZooKeeper ensemble (3.5 or later). A lock is the first of the ephemeral sequential nodes below
 * `/locks/<prefix><name>`; its fence is the transaction that created it. All locks of a process live as
 * long as its session: when that ends, all of them are lost. Grants and fences survive whatever a majority
 * of the servers survives.
 */
export class ZookeeperLockStore implements LockStore {
  readonly kind = 'zookeeper';
  readonly undoesTries = true;
  readonly capabilities: StoreCapabilities;
  private readonly ttlMs: number;
  private readonly clock: Clock;
  private readonly session: ZookeeperSession;
  private readonly nodes: ZookeeperNodes;
  private readonly line: ZookeeperLine;
  private readonly grants: ZookeeperGrants;
  private readonly reconnectListeners = new Set<() => void>();

  /** @throws LockOptionsError for servers or a prefix that are none */
  constructor({
    servers,
    ttlMs = DEFAULT_TTL_MS,
    prefix = 'lock:',
    callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
    clock = new SystemClock(),
  }: ZookeeperLockStoreOptions) {
    if (!/^[^\s,:/]+:\d{1,5}(,[^\s,:/]+:\d{1,5})*$/.test(servers)) {
      throw new LockOptionsError(
        `The ZooKeeper servers are ${JSON.stringify(servers)}; write all of them as "host:port,host:port".`,
      );
    }
    this.ttlMs = ttlMs;
    this.capabilities = {
      fairWaiting: true,
      confirmedGrants: true,
      fencesSurviveLoss: false,
      serverTime: false,
      ttlStepMs: 1,
      longestTtlMs: ttlMs,
    };
    this.clock = clock;
    this.session = new ZookeeperSession(servers, ttlMs + HEARD_LATE_MS, callTimeoutMs, clock, {
      onConnected: () => {
        this.line.tell(undefined, 'turn');
        this.reconnected();
      },
      onExpired: () => {
        this.line.forget();
        this.grants.expired();
      },
    });
    this.nodes = new ZookeeperNodes('/locks', prefix);
    this.line = new ZookeeperLine(this.session, this.nodes, clock);
    this.grants = new ZookeeperGrants(
      this.session,
      this.nodes,
      this.line,
      clock,
      () => this.lifeMs,
      () => this.reconnected(),
    );
  }

  /** Loads the client library and opens the session. An ensemble that is away is no error here. */
  async start(): Promise<void> {
    if (!(await this.session.connected()) || this.lifeMs >= this.ttlMs) return;
    throw new LockOptionsError(
      `The ZooKeeper store's ttlMs is ${this.ttlMs}, but the servers end sessions after ${this.session.timeoutMs} ms, of which ${this.lifeMs} ms can be relied on. Lower ttlMs, or raise maxSessionTimeout on the servers.`,
    );
  }

  tryAcquire(name: string, token: string, ttlMs: number, place?: Place): Promise<AcquireReply> {
    return this.grants.tryAcquire({ name, token, ttlMs, place });
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    return this.grants.renew(renewals);
  }

  async release(name: string, token: string): Promise<ReleaseReply> {
    return (await this.grants.release(name, token)) ? 'released' : 'not-held';
  }

  async leave(name: string, process: string): Promise<void> {
    this.line.drop(name, process);
    await this.line.leave(name, process, await this.line.look(name));
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const { held, line } = await this.line.look(name);
    const [holder] = held;
    const node = holder && (await this.session.read(holder.path, name));
    if (!holder || !node) return null;
    const { revoked, sinceMs, lifeMs } = readData(node.data);
    return {
      token: holder.token,
      fence: node.czxid,
      revoked,
      remainingMs: lifeMs,
      heldForMs: heldForMs(sinceMs, this.clock),
      queued: line.length,
    };
  }

  /** The names in one answer, and then by hundreds two questions each. */
  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    const children = await this.session.children(this.nodes.root);
    const names = children.flatMap((child) => this.nodes.nameOf(child) ?? []);
    for (let at = 0; at < names.length; at += LIST_PAGE) {
      const page = names.slice(at, at + LIST_PAGE);
      const all = await Promise.all(
        page.map(async (name) => ({ name, stored: await this.inspect(name) })),
      );
      yield all.flatMap(({ name, stored }) => (stored ? [{ name, ...stored }] : []));
    }
  }

  /** The node stays until its holder, who watches it, lets go, or its life is over. Three round trips. */
  async revoke(name: string, token: string): Promise<boolean> {
    const [holder] = (await this.line.look(name)).held;
    const node = holder?.token === token ? await this.session.read(holder.path, name) : undefined;
    const { revoked, sinceMs, lifeMs } = readData(node?.data);
    if (!holder || !node || revoked) return false;
    const data = writeData(sinceMs ?? this.clock.now().wallMs, lifeMs ?? this.lifeMs, true);
    return this.session.write(holder.path, data, node.version, name);
  }

  onWake(process: string, listener: WakeListener): () => void {
    return this.line.listen(process, listener);
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  /** Ends the session, and with it every lock of the process. */
  close(): Promise<void> {
    return this.session.close();
  }

  /** How long a lock lives at least after its process was heard. */
  private get lifeMs(): number {
    return this.session.timeoutMs - HEARD_LATE_MS;
  }

  private reconnected(): void {
    for (const listener of this.reconnectListeners) listener();
  }
}
