import { MINUTE_MS, SLOT_MS } from '../../pool-store.js';

interface Slot {
  readonly number: number;
  requests: number;
  tokens: number;
}

/** What a member has used in the last minute; counts a slot as long as any of it may be in that minute. */
export class MemberBudget {
  private slots: Slot[] = [];

  add(nowMs: number, used: { readonly requests?: number; readonly tokens?: number }): void {
    const number = Math.floor(nowMs / SLOT_MS);
    this.forget(nowMs);
    let slot = this.slots.at(-1);
    if (slot?.number !== number) this.slots.push((slot = { number, requests: 0, tokens: 0 }));
    slot.requests += used.requests ?? 0;
    slot.tokens += used.tokens ?? 0;
  }

  /** In how many ms less than `limit` of it are in the minute; 0: now. */
  returnsMs(nowMs: number, of: 'requests' | 'tokens', limit: number | undefined): number {
    if (limit === undefined) return 0;
    this.forget(nowMs);
    let sum = this.slots.reduce((total, slot) => total + slot[of], 0);
    let returnsMs = 0;
    for (const slot of this.slots) {
      if (sum < limit) break;
      sum -= slot[of];
      returnsMs = (slot.number + 1) * SLOT_MS + MINUTE_MS - nowMs;
    }
    return returnsMs;
  }

  private forget(nowMs: number): void {
    const first = Math.floor((nowMs - MINUTE_MS) / SLOT_MS);
    this.slots = this.slots.filter(({ number }) => number >= first);
  }
}
