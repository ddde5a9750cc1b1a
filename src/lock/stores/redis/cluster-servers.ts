import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { RedisServers } from './redis-servers.js';
import { settled } from './settled.js';

/** How soon, and how often at least, a cluster that has lost a master is asked who serves its slots now, in ms. */
const FIRST_LOOK_MS = 200;
const LAST_LOOK_MS = 2_000;

/**
 * The masters of a cluster. The driver connects to a node with its first command, refuses all others
 * meanwhile, and looks for the successor of a dead node only when a command fails: here every master is
 * connected at once, and a lost one is looked for until all slots have a master that answers.
 */
export class ClusterServers implements RedisServers {
  readonly isOne = false;
  private readonly listeners = new Set<() => void>();
  private readonly subscribers = new Map<Redis, Redis>();
  /** The masters, and when each has answered or could not be reached. */
  private adopted = new Map<Redis, Promise<void>>();
  private closed = false;
  private lookAgain: NodeJS.Timeout | undefined;
  private readonly onTopology = () => void this.adopt();
  private readonly onLoss = (node: Redis) => {
    if (this.adopted.has(node) && !this.closed) this.seek();
  };

  constructor(private readonly client: Cluster) {
    client.on('ready', this.onTopology);
    client.on('refresh', this.onTopology);
    client.on('-node', this.onLoss);
  }

  async start(): Promise<void> {
    if (this.client.status === 'wait') await this.client.connect().catch(() => undefined);
    else await settled(this.client);
    await this.adopt();
  }

  masters(): readonly Redis[] {
    const ready = new Map(
      this.client
        .nodes('master')
        .filter(({ status }) => status === 'ready')
        .map((node) => [`${node.options.host}:${node.options.port}`, node]),
    );
    return this.addresses().map((address) => {
      const node = ready.get(address);
      if (!node) throw new Error(`the master ${address} of the cluster is away`);
      return node;
    });
  }

  openSubscriber(options: RedisOptions): Redis | undefined {
    const nodes = this.client.nodes('master').filter(({ status }) => status === 'ready');
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (!node) return undefined;
    // It ends with its node, or when that is a master no longer: another one is chosen then.
    const subscriber = node.duplicate({ ...options, retryStrategy: () => null });
    this.subscribers.set(subscriber, node);
    subscriber.once('end', () => this.subscribers.delete(subscriber));
    return subscriber;
  }

  leaveReplica(): void {}

  onConnect(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.lookAgain);
    this.client.off('ready', this.onTopology);
    this.client.off('refresh', this.onTopology);
    this.client.off('-node', this.onLoss);
    this.listeners.clear();
  }

  /** Connects the masters that are new, and reports each that answers. Resolves when all have, or cannot be reached. */
  private async adopt(): Promise<void> {
    // Before that, the driver itself needs a node that is not connecting.
    if (this.client.status !== 'ready') return;
    const masters = new Set(this.client.nodes('master'));
    // Whoever asks now waits also for those that others have begun to connect.
    this.adopted = new Map(
      [...masters].map((node) => [node, this.adopted.get(node) ?? this.connect(node)]),
    );
    for (const [subscriber, node] of this.subscribers) {
      if (!masters.has(node)) subscriber.disconnect();
    }
    await Promise.all(this.adopted.values());
  }

  private async connect(node: Redis): Promise<void> {
    if (node.status === 'wait') await node.connect().catch(() => undefined);
    else await settled(node);
    if (node.status === 'ready') for (const listener of this.listeners) listener();
  }

  private seek(delayMs = FIRST_LOOK_MS): void {
    if (this.lookAgain) return;
    this.lookAgain = setTimeout(() => {
      this.lookAgain = undefined;
      if (this.client.status !== 'ready') return; // the driver connects anew, and says so
      this.client.refreshSlotsCache(() => {
        if (!this.isWhole()) this.seek(Math.min(delayMs * 2, LAST_LOOK_MS));
      });
    }, delayMs);
    this.lookAgain.unref();
  }

  private isWhole(): boolean {
    try {
      return this.masters().length > 0;
    } catch {
      return false; // that is how a master that is away is told
    }
  }

  /** Of the masters that serve slots, as the cluster tells them. */
  private addresses(): string[] {
    const addresses = new Set<string>();
    for (const nodes of this.client.slots) if (nodes?.[0] !== undefined) addresses.add(nodes[0]);
    return [...addresses];
  }
}
