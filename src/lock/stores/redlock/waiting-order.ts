import type { Clock } from '../../core/clock.js';
import { PLACE_DEAD_MS, type Place, TURN_MS } from '../../core/lock-store.js';
import { LuaScript } from '../redis/lua-script.js';
import { listOf } from '../redis/answer-shapes.js';
import type { RedlockNode } from './redlock-node.js';

/** For how long a node that gave no answer is passed over, in ms: each question to it takes its whole time. */
const SILENT_MS = 5_000;

/** Where a process stands among those who wait for a lock. */
export interface Standing {
  /** How many are before it: with none it asks the nodes. */
  readonly before: number;
  readonly queued: number;
  readonly ticket: string;
  /** How long the first one's turn is reserved for yet, in ms. */
  readonly turnMs: number;
}

/** How many wait for a lock. */
export interface Waiting {
  readonly queued: number;
  /** How long the first one's turn is reserved for yet, in ms. */
  readonly turnMs: number;
}

/**
 * The order of those who wait for locks of Redlock: only the first one asks the nodes, so that a crowd neither
 * splits them nor wakes at every release. It is kept on one node, the same for all processes: that with the lowest
 * run id of those that answer. It excludes nobody; where processes see different nodes, or none, they ask at the
 * same time, which costs time and order only.
 */
export class WaitingOrder {
  private readonly scripts: Record<'stand' | 'turn' | 'leave', LuaScript>;
  /** The nodes on which a process may have a place, by process and lock. */
  private readonly stood = new Map<string, Set<RedlockNode>>();
  private readonly silentUntilMs = new Map<RedlockNode, number>();

  constructor(
    private readonly nodes: readonly RedlockNode[],
    private readonly prefix: string,
    private readonly clock: Clock,
  ) {
    const constants = { DEAD_MS: PLACE_DEAD_MS, TURN_MS, CHANNEL: `${prefix}wake:` };
    const script = (end: string) =>
      new LuaScript({ files: ['../redlock/order.lua', `../redlock/order-${end}.lua`], constants });
    this.scripts = { stand: script('stand'), turn: script('turn'), leave: script('leave') };
  }

  /** Takes or refreshes the process's place; null where no node answers. One round trip. */
  async stand(name: string, { process, ticket = '' }: Place): Promise<Standing | null> {
    const id = idOf(name, process);
    const answer = await this.first(async (node) => {
      this.placesOf(id).add(node);
      const reply = await this.run(node, 'stand', name, [process, ticket]);
      return listOf(reply, ['number', 'number', 'string', 'number'], name);
    });
    if (!answer) return null;
    const [before, queued, given, turnMs] = answer;
    return { before, queued, ticket: given, turnMs };
  }

  /** How many wait; nobody where no node answers. With `reserve` the first one is woken: the lock is free. */
  async waiting(name: string, reserve: boolean): Promise<Waiting> {
    const answer = await this.first((node) => this.turn(node, name, reserve));
    return answer ?? { queued: 0, turnMs: 0 };
  }

  /** Wakes whoever is first, by every node's order: the lock was released. In the background. */
  released(name: string): void {
    for (const node of this.nodes) {
      if (node.isConnected) this.turn(node, name, true).catch(() => undefined); // waiters look by themselves
    }
  }

  /** Gives the process's place up, wherever it may have one. */
  async leave(name: string, process: string, hasLock: boolean): Promise<void> {
    const id = idOf(name, process);
    const nodes = [...(this.stood.get(id) ?? [])];
    this.stood.delete(id);
    const args = [this.prefix + name, process, hasLock ? 1 : 0];
    // Where it fails the place dies by itself.
    await Promise.allSettled(nodes.map((node) => this.run(node, 'leave', name, args)));
  }

  private async turn(node: RedlockNode, name: string, reserve: boolean): Promise<Waiting> {
    const reply = await this.run(node, 'turn', name, [this.prefix + name, reserve ? 1 : 0]);
    const [queued, turnMs] = listOf(reply, ['number', 'number'], name);
    return { queued, turnMs };
  }

  /** What the first node says that says anything; undefined where none does. */
  private async first<T>(ask: (node: RedlockNode) => Promise<T>): Promise<T | undefined> {
    const nowMs = this.clock.now().monoMs;
    const asked = this.nodes.filter(
      (node) => node.isConnected && (this.silentUntilMs.get(node) ?? 0) <= nowMs,
    );
    for (const node of asked.sort((a, b) => (a.id < b.id ? -1 : 1))) {
      try {
        return await ask(node);
      } catch {
        // The next one: it is a matter of order only.
        this.silentUntilMs.set(node, this.clock.now().monoMs + SILENT_MS);
      }
    }
    return undefined;
  }

  private run(
    node: RedlockNode,
    script: 'stand' | 'turn' | 'leave',
    name: string,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const tag = `{${this.prefix}${name}}`;
    const keys = [`${tag}:order`, `${tag}:order-seen`, `${tag}:order-turn`];
    return node.run(this.scripts[script], { keys, args });
  }

  private placesOf(id: string): Set<RedlockNode> {
    const places = this.stood.get(id) ?? new Set();
    this.stood.set(id, places);
    return places;
  }
}

function idOf(name: string, process: string): string {
  return `${process} ${name}`;
}
