import { type Clock, elapsedMs, type Instant } from '../../core/clock.js';
import { type Place, TURN_MS, type WakeListener } from '../../core/lock-store.js';
import { EMPTY_LOOK, type Look, type PlaceNode, type ZookeeperNodes } from './zookeeper-nodes.js';
import type { ZookeeperSession } from './zookeeper-session.js';

/**
 * The line for each lock: an ephemeral sequential node per waiting process. Each place watches the one
 * before it, the head the holder; the one behind the head looks after the holder too, should the head
 * miss its turn. A place lives as long as its process's session.
 */
export class ZookeeperLine {
  private readonly listeners = new Map<string, WakeListener>();
  /** What is watched, as one text each: ZooKeeper's watches fire once, and cannot be taken back. */
  private readonly watched = new Map<string, string>();
  /** Which head was seen not to take a free lock, and since when. */
  private readonly idle = new Map<string, { readonly head: string; readonly since: Instant }>();

  constructor(
    private readonly session: ZookeeperSession,
    private readonly nodes: ZookeeperNodes,
    private readonly clock: Clock,
  ) {}

  listen(process: string, listener: WakeListener): () => void {
    this.listeners.set(process, listener);
    return () => this.listeners.delete(process);
  }

  /** Tells every listening process. */
  tell(name: string | undefined, role: 'turn' | 'revoked', token?: string): void {
    for (const listener of this.listeners.values()) listener(name, role, token);
  }

  /** The session has ended, and all watches with it. */
  forget(): void {
    this.watched.clear();
  }

  async look(name: string): Promise<Look> {
    const children = await this.session.children(this.nodes.lock(name), name);
    return children.length === 0 ? EMPTY_LOOK : this.nodes.look(name, children);
  }

  /** The process's place: the one that it has, or a new one with its old ticket. */
  async stand(name: string, { process, ticket = '' }: Place, look: Look): Promise<Look> {
    if (look.line.some((place) => place.process === process)) return look;
    const path = this.nodes.place(name, process, ticket);
    const none = Buffer.alloc(0);
    if ((await this.session.create(path, none, name)) === undefined) {
      await this.session.makeParent(this.nodes.lock(name), name);
      await this.session.create(path, none, name);
    }
    return this.look(name);
  }

  /** How long the head may still take the free lock, in ms, by this process's clock; 0 once it has missed its turn. */
  turnMs(name: string, { path }: PlaceNode): number {
    const now = this.clock.now();
    const seen = this.idle.get(name);
    if (seen?.head === path) return Math.max(0, Math.ceil(TURN_MS - elapsedMs(seen.since, now)));
    this.idle.delete(name);
    this.idle.set(name, { head: path, since: now });
    const oldest = this.idle.keys().next().value;
    if (this.idle.size > 1_000 && oldest !== undefined) this.idle.delete(oldest);
    return TURN_MS;
  }

  /** Somebody holds the lock: nobody misses a turn. */
  seenHeld(name: string): void {
    this.idle.delete(name);
  }

  /** Tells the process's listener as soon as it is worth another look. */
  async watch(name: string, process: string, { held, line }: Look): Promise<void> {
    const position = line.findIndex((place) => place.process === process);
    if (!this.listeners.has(process) || position < 0) return;
    const before = line[position - 1];
    const watches: Promise<void>[] = [];
    if (before) watches.push(this.watchNode(name, process, before.path, 'turn'));
    if (position <= 1 && held[0]) {
      const role = position === 0 ? 'turn' : 'standby';
      watches.push(this.watchNode(name, process, held[0].path, role));
    }
    await Promise.all(watches);
  }

  /** The process no longer waits: what it watched concerns it no more. */
  drop(name: string, process: string): void {
    const start = `${process} ${this.nodes.lock(name)}/`;
    for (const key of this.watched.keys()) if (key.startsWith(start)) this.watched.delete(key);
  }

  /** Gives the place up. */
  async leave(name: string, process: string, look: Look): Promise<void> {
    this.drop(name, process);
    const own = look.line.filter((place) => place.process === process);
    await Promise.all(own.map(({ path }) => this.session.remove(path, name)));
  }

  private async watchNode(
    name: string,
    process: string,
    path: string,
    role: 'turn' | 'standby',
  ): Promise<void> {
    const key = `${process} ${path}`;
    const isWatched = this.watched.has(key);
    this.watched.set(key, role); // a watch that is there already tells the role of today
    if (isWatched) return;
    const wake = (how: string | undefined) => {
      if (this.watched.delete(key)) {
        this.listeners.get(process)?.(name, how === 'standby' ? 'standby' : 'turn');
      }
    };
    const watch = async (): Promise<void> => {
      const node = await this.session.read(path, name, ({ isGone }) => {
        if (isGone) wake(this.watched.get(key));
        else watch().catch(() => wake('turn')); // it was revoked, and is still there
      });
      if (!node) wake('turn'); // gone before it could be watched
    };
    try {
      await watch();
    } catch (error) {
      this.watched.delete(key);
      throw error;
    }
  }
}
