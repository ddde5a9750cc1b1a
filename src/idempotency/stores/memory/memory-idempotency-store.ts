import {
  BEGUN_LIFE_MS,
  type BeginRecord,
  type BeginReply,
  type FinishRecord,
  type IdempotencyRecord,
  type IdempotencyStore,
  type SweptRecords,
} from '../../idempotency-store.js';

interface Entry {
  readonly record: IdempotencyRecord;
  readonly expiresAtMs: number;
}

/** Records of one process, which end with it: for one replica, and for tests. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  private readonly entries = new Map<string, Entry>();

  async find(id: string): Promise<IdempotencyRecord | null> {
    return this.live(id) ?? null;
  }

  async begin(id: string, { fingerprint, fence }: BeginRecord): Promise<BeginReply> {
    const known = this.live(id);
    if (known?.answer) return known;
    if (known && known.fence > fence) return 'stale';
    if (known && known.fingerprint !== fingerprint) return known;
    this.keep(id, { fingerprint, fence, answer: null }, BEGUN_LIFE_MS);
    return 'begun';
  }

  async finish(id: string, { fence, answer, ttlMs }: FinishRecord): Promise<'kept' | 'stale'> {
    const known = this.live(id);
    if (known?.fence !== fence) return 'stale';
    if (!known.answer) this.keep(id, { ...known, answer }, ttlMs);
    return 'kept';
  }

  async drop(id: string, fence: bigint): Promise<void> {
    const known = this.live(id);
    if (known?.fence === fence && !known.answer) this.entries.delete(id);
  }

  async sweep(): Promise<SweptRecords> {
    let removed = 0;
    for (const id of this.entries.keys()) {
      if (!this.live(id) && this.entries.delete(id)) removed += 1;
    }
    return { removed, more: false };
  }

  private keep(id: string, record: IdempotencyRecord, ttlMs: number): void {
    this.entries.set(id, { record, expiresAtMs: performance.now() + ttlMs });
  }

  private live(id: string): IdempotencyRecord | undefined {
    const entry = this.entries.get(id);
    return entry && entry.expiresAtMs > performance.now() ? entry.record : undefined;
  }
}
