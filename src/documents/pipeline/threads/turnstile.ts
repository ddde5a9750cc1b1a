interface Waiter {
  readonly owner: object;
  readonly isUrgent: boolean;
  readonly admit: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** How somebody enters. */
export interface EnterOptions {
  /** On whose account: see Turnstile. */
  readonly owner: object;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** A person waits for it. */
  readonly isUrgent?: boolean | undefined;
}

/** So many urgent ones may pass in a row while others wait. */
const MAX_URGENT_IN_A_ROW = 3;

/**
 * A fair door with a fixed number of slots. Urgent ones go before all others, which get every fourth slot
 * at least. Among those of a kind the next free slot goes to the owner (a document, a query) that has the
 * fewest slots already, and among equals to whoever came first: a long document shares the slots with a
 * short one instead of making it wait.
 */
export class Turnstile {
  #free: number;
  #urgentInARow = 0;
  readonly #waiting: Waiter[] = [];
  readonly #held = new Map<object, number>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /**
   * Resolves with the function that gives the slot back (harmless when called twice).
   * Rejects with the signal's reason when that aborts first; nothing is held then.
   */
  enter({ owner, signal, isUrgent = false }: EnterOptions): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abandon = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        waiter.refuse(signal?.reason);
      };
      const waiter: Waiter = {
        owner,
        isUrgent,
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
    const mayBeUrgent = this.#urgentInARow < MAX_URGENT_IN_A_ROW;
    const preferred = this.#waiting.filter(({ isUrgent }) => isUrgent === mayBeUrgent);
    const [first, ...others] = preferred.length > 0 ? preferred : this.#waiting;
    let next = first!;
    for (const waiter of others) {
      if (this.#holding(waiter.owner) < this.#holding(next.owner)) next = waiter;
    }
    this.#urgentInARow = next.isUrgent ? this.#urgentInARow + 1 : 0;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    next.admit();
  }

  #holding(owner: object): number {
    return this.#held.get(owner) ?? 0;
  }
}
