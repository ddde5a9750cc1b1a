interface Waiter {
  readonly owner: object;
  readonly admit: () => void;
  readonly refuse: (reason: unknown) => void;
}

/**
 * A fair door with a fixed number of slots. The next free slot goes to the owner (a document, a
 * query) that has the fewest slots already, and among equals to whoever came first: a long
 * document shares the slots with a short one instead of making it wait.
 */
export class Turnstile {
  #free: number;
  readonly #waiting: Waiter[] = [];
  readonly #held = new Map<object, number>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /**
   * Resolves with the function that gives the slot back (harmless when called twice).
   * Rejects with the signal's reason when that aborts first; nothing is held then.
   */
  enter(owner: object, signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abandon = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        waiter.refuse(signal?.reason);
      };
      const waiter: Waiter = {
        owner,
        admit: () => {
          signal?.removeEventListener('abort', abandon);
          resolve(this.#take(owner));
        },
        refuse: (reason) => {
          signal?.removeEventListener('abort', abandon);
          reject(reason);
        },
      };
      signal?.addEventListener('abort', abandon, { once: true });
      this.#waiting.push(waiter);
      this.#admitNext();
    });
  }

  /** Refuses everybody who waits, with `reason`. Slots that are held stay held. */
  refuseWaiters(reason: unknown): void {
    for (const waiter of this.#waiting.splice(0)) waiter.refuse(reason);
  }

  #take(owner: object): () => void {
    this.#free -= 1;
    this.#held.set(owner, this.#holding(owner) + 1);
    let returned = false;
    return () => {
      if (returned) return;
      returned = true;
      this.#free += 1;
      const left = this.#holding(owner) - 1;
      if (left > 0) this.#held.set(owner, left);
      else this.#held.delete(owner);
      this.#admitNext();
    };
  }

  #admitNext(): void {
    if (this.#free === 0 || this.#waiting.length === 0) return;
    let next = 0;
    for (let i = 1; i < this.#waiting.length; i += 1) {
      if (this.#holding(this.#waiting[i]!.owner) < this.#holding(this.#waiting[next]!.owner)) {
        next = i;
      }
    }
    this.#waiting.splice(next, 1)[0]!.admit();
  }

  #holding(owner: object): number {
    return this.#held.get(owner) ?? 0;
  }
}
