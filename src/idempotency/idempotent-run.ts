import { AsyncLocalStorage } from 'node:async_hooks';
import { IdempotencyMarkLostError } from './idempotency.errors.js';
import type { IdempotencyStore, StoredAnswer } from './idempotency-store.js';

/** Where a run keeps its answer. */
export interface RunTerms {
  readonly store: IdempotencyStore;
  readonly id: string;
  /** Of the mark. */
  readonly fence: bigint;
  readonly ttlMs: number;
  /** The lock store's time. */
  readonly nowMs: () => number;
}

const runs = new AsyncLocalStorage<IdempotentRun>();

/** One run of a handler under a key: it ends with its answer kept, or with the key free again. */
export class IdempotentRun {
  private snapshot: (body: unknown) => StoredAnswer | null = () => null;
  /** Whether the answer was kept with the work, or will be when the caller's transaction commits. */
  isRecorded = false;

  constructor(readonly terms: RunTerms) {}

  /** The run that this async context belongs to; undefined for a request without a key. */
  static current(): IdempotentRun | undefined {
    return runs.getStore();
  }

  /** Does the work. `snapshot` gives the answer with that body as it stands, null if it cannot be kept. */
  enter<T>(snapshot: (body: unknown) => StoredAnswer | null, work: () => T): T {
    this.snapshot = snapshot;
    return runs.run(this, work);
  }

  /** The answer with that body, with the status and the headers as they are now. */
  answer(body: unknown): StoredAnswer | null {
    return this.snapshot(body);
  }

  /** Keeps the answer, before the mark goes. @throws IdempotencyMarkLostError, and the store's trouble */
  async finish(answer: StoredAnswer): Promise<void> {
    const { store, id, fence, ttlMs, nowMs } = this.terms;
    if ((await store.finish(id, { fence, answer, ttlMs, nowMs: nowMs() })) === 'stale') {
      throw new IdempotencyMarkLostError();
    }
  }

  /** Frees the key; an answer that was kept stays. @throws the store's trouble */
  drop(): Promise<void> {
    return this.terms.store.drop(this.terms.id, this.terms.fence);
  }
}
