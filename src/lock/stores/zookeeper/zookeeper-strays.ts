import type { Clock } from '../../core/clock.js';
import type { ZookeeperLine } from './zookeeper-line.js';
import type { ZookeeperNodes } from './zookeeper-nodes.js';
import type { ZookeeperSession } from './zookeeper-session.js';

const RETRY_MS = 1_000;

/**
 * Nodes of tries that failed, known or not. They outlive their try by its TTL, as in a store that ends
 * lives itself: their session would keep them for as long as the process lives.
 */
export class ZookeeperStrays {
  /** Whose tokens have asked for a node, and do not hold the lock (yet). */
  private readonly tokens = new Set<string>();

  constructor(
    private readonly session: ZookeeperSession,
    private readonly nodes: ZookeeperNodes,
    private readonly line: ZookeeperLine,
    private readonly clock: Clock,
  ) {}

  /** A node is about to be asked for. */
  expect(token: string): void {
    this.tokens.add(token);
  }

  /** Its node is gone, or holds the lock now. */
  settled(token: string): void {
    this.tokens.delete(token);
  }

  /** Its try has failed: what there is of it, or comes late, is deleted after so many ms. */
  sweepAfter(name: string, token: string, ms: number): void {
    if (!this.tokens.has(token)) return;
    this.clock.setTimer(() => {
      if (this.session.isClosed || !this.tokens.has(token)) return;
      this.sweep(name, token).catch(() => this.sweepAfter(name, token, RETRY_MS));
    }, ms);
  }

  private async sweep(name: string, token: string): Promise<void> {
    await this.session.hear(this.nodes.root, name); // or a node of ours may not be seen yet
    const { held } = await this.line.look(name);
    if (!this.tokens.has(token)) return; // another try of it has come
    const left = held.filter((one) => one.token === token);
    await Promise.all(left.map(({ path }) => this.session.remove(path, name)));
    this.settled(token);
    this.session.remove(this.nodes.lock(name), name).catch(() => undefined); // as after a release
  }
}
