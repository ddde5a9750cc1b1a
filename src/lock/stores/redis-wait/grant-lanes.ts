import { LockUnavailableError } from '../../core/lock.errors.js';
import type { RedisLockStore } from '../redis/redis-lock-store.js';
import { GrantLane, type LaneReply, type LaneTerms } from './grant-lane.js';

/** With so many, a script that comes while replicas are silent waits for a part of the limit only. */
const MOST_LANES = 4;

interface WaitingScript {
  readonly go: (lane: GrantLane) => void;
  readonly giveUp: (error: Error) => void;
}

/** The connections for grants and renewals: one at first, more only while WAITs block those there are. */
export class GrantLanes {
  private readonly lanes: GrantLane[] = [];
  private waiting: WaitingScript[] = [];
  private readonly reconnectListeners = new Set<() => void>();
  private closed = false;

  constructor(private readonly terms: LaneTerms) {}

  /** Opens the first lane. @throws what the server says against WAIT or ROLE; not where it is away */
  async start(): Promise<void> {
    const lane = await this.openLane().catch(() => undefined);
    await lane?.probe();
  }

  /** As `GrantLane.run`, on a lane that is open. @throws LockUnavailableError where there is none to come */
  async run<T>(
    send: (store: RedisLockStore) => Promise<T>,
    needsConfirmation: (reply: T) => boolean,
  ): Promise<LaneReply<T>> {
    const lane = this.lanes.find(({ isOpen }) => isOpen) ?? (await this.openLane());
    return lane.run(send, needsConfirmation);
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  close(): void {
    this.closed = true;
    for (const lane of this.lanes) lane.close();
    this.giveUp();
  }

  private openLane(): Promise<GrantLane> {
    const mayAdd = !this.closed && this.lanes.length < MOST_LANES;
    // One at a time: what is missing may be the server, not connections to it.
    if (mayAdd && !this.lanes.some((lane) => lane.isConnecting || lane.isDown)) this.addLane();
    return new Promise((go, giveUp) => {
      this.waiting.push({ go, giveUp });
      if (this.lanes.every(({ isDown }) => isDown)) this.giveUp();
    });
  }

  private addLane(): void {
    let isNew = true;
    const lane: GrantLane = new GrantLane(this.terms, (event) => {
      if (event === 'ready' && !isNew) this.reconnectListeners.forEach((listener) => listener());
      if (event === 'ready') isNew = false;
      if (event === 'down') this.onDown();
      else this.go();
    });
    this.lanes.push(lane);
  }

  private go(): void {
    const open = this.lanes.find(({ isOpen }) => isOpen);
    if (!open) return;
    const { waiting } = this;
    this.waiting = [];
    for (const { go } of waiting) go(open);
  }

  private onDown(): void {
    if (this.lanes.every(({ isDown }) => isDown)) this.giveUp();
  }

  private giveUp(): void {
    const { waiting } = this;
    this.waiting = [];
    const why = 'no connection to Redis for grants is ready';
    for (const { giveUp } of waiting) {
      giveUp(new LockUnavailableError(undefined, why, { mayHaveRun: false }));
    }
  }
}
