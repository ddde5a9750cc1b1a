import type { LockStore, WakeListener } from '../../../../src/lock/core/lock-store.js';
import { MemoryLockStore } from '../../../../src/lock/stores/memory/memory-lock-store.js';
import { EPOCH_MS } from '../world/process-clock.js';
import type { World } from '../world/world.js';
import { ModelStore } from './model-store.js';

/** Makes the store that a simulation runs against. */
export type MakeModel = (now: () => number) => ModelStore;

/**
 * The machine the store runs on: it can freeze, restart with nothing or with what a lagging replica
 * knew, and have its clock stepped. `model` is undefined where the memory store is simulated instead.
 */
export class Server {
  /** Tokens that a request took which came again, after its outcome was known: nobody can undo that. */
  readonly ghosts = new Set<string>();
  /** Its clock was set back, or some of its state is from the past: keys may live longer than anybody can know. */
  prolongsLives = false;
  private store: LockStore;
  private offsetMs = 0;
  private frozen: (() => void)[] | undefined;
  private readonly listeners = new Map<string, WakeListener>();

  constructor(
    private readonly world: World,
    private readonly makeModel: MakeModel | undefined,
  ) {
    this.store = this.newStore();
  }

  get canRevive(): boolean {
    return this.makeModel !== undefined;
  }

  /** Runs one operation on the store, as soon as that answers anything. */
  handle(operation: (store: LockStore) => void): void {
    if (this.frozen) this.frozen.push(() => operation(this.store));
    else operation(this.store);
  }

  /** For looking at the end, past the network. */
  get contents(): LockStore {
    return this.store;
  }

  listen(process: string, listener: WakeListener): void {
    this.listeners.set(process, listener);
    this.store.onWake(process, listener);
  }

  freeze(ms: number): void {
    if (this.frozen) return;
    this.frozen = [];
    this.world.scheduler.after(ms, () => {
      const waiting = this.frozen ?? [];
      this.frozen = undefined;
      for (const operation of waiting) operation();
    });
  }

  step(ms: number): void {
    if (ms < 0) this.prolongsLives = true;
    this.offsetMs += ms;
  }

  /** Everything is gone. */
  forget(): void {
    this.replaceBy(this.newStore());
  }

  /** What a replica would know that hears nothing more from now on. Promote it with the answer. */
  fork(): () => void {
    if (!(this.store instanceof ModelStore)) throw new Error('only the model has replicas');
    const replica = this.newStore() as ModelStore;
    this.store.copyTo(replica);
    return () => {
      this.prolongsLives = true;
      this.replaceBy(replica);
    };
  }

  private replaceBy(store: LockStore): void {
    this.store = store;
    for (const [process, listener] of this.listeners) store.onWake(process, listener);
  }

  private newStore(): LockStore {
    const { scheduler } = this.world;
    const wallMs = () => EPOCH_MS + scheduler.now + this.offsetMs;
    if (this.makeModel) return this.makeModel(wallMs);
    return new MemoryLockStore({
      now: () => ({ monoMs: scheduler.now, wallMs: wallMs() }),
      setTimer: () => () => undefined,
      afterInput: () => undefined,
      jitterMs: () => 0,
    });
  }
}
