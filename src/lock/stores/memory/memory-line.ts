import { PLACE_DEAD_MS, TURN_MS } from '../../core/lock-store.js';

interface StandingPlace {
  readonly ticket: bigint;
  seenMs: number;
}

/** Who waits for one lock, in the order of their tickets. Times are those of the store's clock, in ms. */
export class MemoryLine {
  private readonly places = new Map<string, StandingPlace>();
  private turn: { readonly process: string; readonly endsMs: number } | undefined;

  get length(): number {
    return this.places.size;
  }

  /** Takes or refreshes a place; with an old ticket at its old position. Returns the ticket. */
  stand(process: string, oldTicket: string | undefined, nowMs: number): string {
    const standing = this.places.get(process);
    if (standing) {
      standing.seenMs = nowMs;
      return String(standing.ticket);
    }
    const newest = [...this.places.values()].reduce((most, { ticket }) => max(most, ticket), 0n);
    const ticket =
      oldTicket === undefined
        ? max(newest + 1n, BigInt(Math.floor(nowMs * 1000)))
        : BigInt(oldTicket);
    this.places.set(process, { ticket, seenMs: nowMs });
    return String(ticket);
  }

  leave(process: string): void {
    this.places.delete(process);
    if (this.turn?.process === process) this.turn = undefined;
  }

  /** The first that lives and has not missed its turn; those before it are taken out. Whoever is asking lives. */
  first(asking: string | undefined, nowMs: number): string | undefined {
    for (;;) {
      const head = this.inOrder()[0];
      if (head === undefined || head === asking) return head;
      const missed = this.turn?.process === head && this.turn.endsMs < nowMs;
      const { seenMs } = this.places.get(head) as StandingPlace;
      if (!missed && seenMs > nowMs - PLACE_DEAD_MS) return head;
      this.places.delete(head);
    }
  }

  /** Reserves the turn of `head`, unless that is done. Returns when it ends, and whether it is new. */
  reserve(head: string, nowMs: number): { endsMs: number; isNew: boolean } {
    if (this.turn?.process === head && this.turn.endsMs >= nowMs) {
      return { endsMs: this.turn.endsMs, isNew: false };
    }
    this.turn = { process: head, endsMs: nowMs + TURN_MS };
    return { endsMs: this.turn.endsMs, isNew: true };
  }

  /** There is nothing to take: whoever had the turn has not missed it. */
  forgetTurn(): void {
    this.turn = undefined;
  }

  /** The processes to wake: the head, and the one that looks whether the head took its turn. */
  toWake(): [head: string | undefined, standby: string | undefined] {
    const [head, standby] = this.inOrder();
    return [head, standby];
  }

  private inOrder(): string[] {
    return [...this.places]
      .sort(([, a], [, b]) => (a.ticket < b.ticket ? -1 : 1))
      .map(([process]) => process);
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
