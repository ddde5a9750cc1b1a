import { Cluster, Redis } from 'ioredis';
import { redisLockClusterOptions } from '../../src/lock/index.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { type RedisServer, startRedis } from './redis.js';

const SLOTS = 16_384;
const MASTERS = 3;

/** One server of a cluster. */
export interface ClusterNode {
  readonly server: RedisServer;
  /** A client of the test's own for this server alone. */
  readonly admin: Redis;
}

/** A real Redis Cluster: three masters with a replica each, whose shards live on when another one has no master. */
export interface RedisCluster {
  readonly nodes: readonly ClusterNode[];
  /** `host:port` of every node. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** A client for locks, ready; closed by `stop`. */
  client(options?: ConstructorParameters<typeof Cluster>[1]): Promise<Cluster>;
  /** The present master of a key's slot; `gone` is not asked, which may be frozen. */
  masterOf(key: string, gone?: ClusterNode): Promise<ClusterNode>;
  /** Deletes every key. */
  clear(): Promise<void>;
  /** Brings killed servers back, and waits until every slot has a master that has a replica. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts six servers and joins them; a failover comes about two seconds after a master has gone. */
export async function startRedisCluster(program?: string): Promise<RedisCluster> {
  const starts = Array.from({ length: 2 * MASTERS }, () => startNode(program));
  const started = await Promise.allSettled(starts);
  const nodes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const cluster = new ServerCluster(nodes);
  const failed = started.find((one) => one.status === 'rejected');
  if (failed) {
    await cluster.stop();
    throw failed.reason;
  }
  try {
    await cluster.join();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/** A free port may be taken by any connection of this machine before the server listens on it. */
async function startNode(program: string | undefined, tries = 3): Promise<ClusterNode> {
  try {
    return await startNodeOnce(program);
  } catch (error) {
    if (tries <= 1) throw error;
    return startNode(program, tries - 1);
  }
}

async function startNodeOnce(program: string | undefined): Promise<ClusterNode> {
  const args = [
    ['--cluster-enabled', 'yes'],
    ['--cluster-port', String(await freePort())],
    ['--cluster-node-timeout', '1500'],
    ['--cluster-require-full-coverage', 'no'],
    ['--cluster-replica-validity-factor', '0'],
    ['--repl-diskless-sync-delay', '0'],
  ].flat();
  const server = await startRedis({ args, ...(program === undefined ? {} : { program }) });
  const admin = new Redis(server.port, server.host, {
    retryStrategy: () => 100,
    disconnectTimeout: 100,
  });
  admin.on('error', () => 'a test ends the server on purpose');
  return { server, admin };
}

class ServerCluster implements RedisCluster {
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  private readonly clients: Cluster[] = [];

  constructor(readonly nodes: readonly ClusterNode[]) {
    this.addresses = nodes.map(({ server: { host, port } }) => ({ host, port }));
  }

  async join(): Promise<void> {
    const [first] = this.nodes as [ClusterNode];
    for (const [index, { admin }] of this.nodes.entries()) {
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    }
    const masters = this.nodes.slice(0, MASTERS);
    await Promise.all(
      masters.map(({ admin }, index) => {
        const [from, to] = [index, index + 1].map((part) => Math.floor((SLOTS * part) / MASTERS));
        return admin.call('CLUSTER', 'ADDSLOTSRANGE', from ?? 0, (to ?? SLOTS) - 1);
      }),
    );
    for (const { server, admin } of this.nodes) {
      const bus = Number((await admin.config('GET', 'cluster-port'))[1]);
      await first.admin.call('CLUSTER', 'MEET', server.host, server.port, bus);
    }
    const ids = await Promise.all(masters.map(({ admin }) => admin.call('CLUSTER', 'MYID')));
    await Promise.all(
      this.nodes.slice(MASTERS).map(({ admin }, index) =>
        eventually(() => admin.call('CLUSTER', 'REPLICATE', ids[index] as string), {
          what: 'a replica to know its master',
        }),
      ),
    );
    await this.untilWhole();
  }

  async client(options: ConstructorParameters<typeof Cluster>[1] = {}): Promise<Cluster> {
    const client = new Cluster([...this.addresses], { ...redisLockClusterOptions, ...options });
    client.on('error', () => 'a test ends servers on purpose');
    this.clients.push(client);
    await eventually(() => client.status === 'ready', { what: 'the cluster client' });
    return client;
  }

  async masterOf(key: string, gone?: ClusterNode): Promise<ClusterNode> {
    const seek = async () => {
      const living = this.nodes.filter((node) => node !== gone && node.admin.status === 'ready');
      const slot = Number(await living[0]?.admin.cluster('KEYSLOT', key));
      for (const node of living) {
        if (await serves(node, slot)) return node;
      }
      return undefined;
    };
    return eventually(seek, { timeoutMs: 40_000, what: `a master of the slot of ${key}` });
  }

  async clear(): Promise<void> {
    for (const { admin } of this.nodes) {
      if ((await admin.role())[0] === 'master') await admin.flushall();
    }
  }

  async heal(): Promise<void> {
    for (const { server } of this.nodes) if (!server.isRunning) await server.restart();
    await this.untilWhole();
  }

  async stop(): Promise<void> {
    for (const client of this.clients) client.disconnect();
    for (const { admin } of this.nodes) admin.disconnect();
    await Promise.all(this.nodes.map(({ server }) => server.stop()));
  }

  /** Every node knows three masters with all slots, and each of them has a replica that is linked. */
  private async untilWhole(): Promise<void> {
    await eventually(
      async () => {
        const views = await Promise.all(this.nodes.map(({ admin }) => admin.cluster('SLOTS')));
        const isWhole = (ranges: unknown[][]) =>
          ranges.length >= MASTERS &&
          ranges.every((range) => range.length >= 4) && // from, to, master, replica
          ranges.reduce((sum, [from, to]) => sum + Number(to) - Number(from) + 1, 0) === SLOTS;
        if (!views.every((view) => isWhole(view as unknown[][]))) return false;
        const roles = await Promise.all(this.nodes.map(({ admin }) => admin.role()));
        return roles.every(([role, , , link]) => role !== 'slave' || link === 'connected');
      },
      { timeoutMs: 40_000, everyMs: 50, what: 'a whole cluster' },
    );
  }
}

/** Whether the node itself says that it is the master of the slot. */
async function serves({ admin }: ClusterNode, slot: number): Promise<boolean> {
  const shown = String(await admin.cluster('NODES'));
  const own = shown.split('\n').find((line) => line.includes('myself')) ?? '';
  if (!own.includes('master')) return false;
  return own
    .split(' ')
    .slice(8)
    .filter((range) => !range.startsWith('['))
    .map((range) => range.split('-').map(Number))
    .some(([from = 0, to = from]) => from <= slot && slot <= to);
}
