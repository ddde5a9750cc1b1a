import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { RedisClient } from './lua-script.js';
import { ClusterServers } from './cluster-servers.js';
import type { RedisServers } from './redis-servers.js';
import { settled } from './settled.js';

/** The servers that a client talks to. */
export function serversOf(client: RedisClient): RedisServers {
  return client.isCluster
    ? new ClusterServers(client as Cluster)
    : new SingleServer(client as Redis);
}

class SingleServer implements RedisServers {
  readonly isOne = true;

  constructor(private readonly client: Redis) {}

  async start(): Promise<void> {
    if (this.client.status === 'wait') await this.client.connect().catch(() => undefined);
    else await settled(this.client);
  }

  masters(): readonly Redis[] {
    return [this.client];
  }

  openSubscriber(options: RedisOptions): Redis {
    return this.client.duplicate(options);
  }

  leaveReplica(): void {
    if (this.client.status === 'ready') this.client.disconnect(true);
  }

  onConnect(listener: () => void): () => void {
    this.client.on('ready', listener);
    return () => this.client.off('ready', listener);
  }

  close(): void {}
}
