import { GrantEngine, type GrantEngineOptions } from './grant-engine.js';
import type { LockStore, PermitStore } from './lock-store.js';
import { LockOptionsError } from './lock.errors.js';
import { Semaphore } from './semaphore.js';

/** More would make the store count for longer than a lock's script should take. */
const MOST_PERMITS = 1_000;

interface Kind {
  readonly engine: GrantEngine;
  readonly store: PermitStore;
}

/** The semaphores of one lock engine: one grant engine, with its watchdog, for each number of permits. */
export class Semaphores {
  private readonly kinds = new Map<number, Kind>();
  private closing = false;

  constructor(
    private readonly store: LockStore,
    private readonly parts: Omit<GrantEngineOptions, 'store'>,
  ) {}

  of(name: string, permits: number): Semaphore {
    if (!Number.isInteger(permits) || permits < 1 || permits > MOST_PERMITS) {
      throw new LockOptionsError(
        `The semaphore "${name}" has ${String(permits)} permits; it must be a whole number from 1 to ${MOST_PERMITS}.`,
        name,
      );
    }
    const { engine, store } = this.kindOf(name, permits);
    return new Semaphore(name, permits, engine, store, this.parts.fences);
  }

  async shutdown(graceMs: number): Promise<void> {
    this.closing = true;
    await Promise.all([...this.kinds.values()].map(({ engine }) => engine.shutdown(graceMs)));
  }

  close(): void {
    this.closing = true;
    for (const { engine } of this.kinds.values()) engine.close();
  }

  private kindOf(name: string, permits: number): Kind {
    const known = this.kinds.get(permits);
    if (known) return known;
    const store = this.store.semaphores?.(permits);
    if (!store) {
      throw new LockOptionsError(
        `The lock store "${this.store.kind}" has no semaphores, so "${name}" cannot be one. Use the redis store, or the memory store within one process.`,
        name,
      );
    }
    const engine = new GrantEngine({ store, permits, ...this.parts });
    if (this.closing) engine.close();
    const kind = { engine, store };
    this.kinds.set(permits, kind);
    return kind;
  }
}
