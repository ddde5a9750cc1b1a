import {
  DEAD_LOOKS,
  LOOK_STEP_MS,
  MAX_LOOK_MS,
  type Place,
  SAFETY_MS,
  TURN_MS,
} from '../../core/lock-store.js';

interface StandingPlace {
  readonly process: string;
  readonly ticketUs: number;
  deadAtMs: number;
}

/** What a process is told of the place that it stands in. */
interface Standing {
  readonly ticket: string;
  readonly newcomerTicket: number;
  /** Absent for the first two, which look as soon as the lock may be free. */
  readonly lookMs: number | undefined;
}

/**
 * Who waits for one lock, in the order of their tickets. Times are those of the store's clock, in ms. A place is
 * found by its ticket, in O(log n).
 */
export class MemoryLine {
  private readonly places: StandingPlace[] = [];
  private readonly byProcess = new Map<string, StandingPlace>();
  private turn: { readonly process: string; readonly endsMs: number } | undefined;

  get length(): number {
    return this.places.length;
  }

  /**
   * Takes, keeps or moves a place. A ticket that the process brings counts only where it is later than the one
   * that it stands with, or it stands nowhere.
   */
  stand({ process, ticket }: Place, nowMs: number): Standing {
    const newcomerTicket = this.newcomerTicket(nowMs);
    const standing = this.byProcess.get(process);
    const brought = ticket === undefined ? undefined : Math.min(Number(ticket), newcomerTicket);
    const ticketUs = standing
      ? Math.max(standing.ticketUs, brought ?? 0)
      : (brought ?? newcomerTicket);
    if (standing?.ticketUs !== ticketUs) {
      this.remove(process);
      this.insert({ process, ticketUs, deadAtMs: 0 });
    }
    const place = this.byProcess.get(process) as StandingPlace;
    const position = this.indexOf(place.ticketUs);
    const lookMs = Math.min(Math.max(SAFETY_MS, position * LOOK_STEP_MS), MAX_LOOK_MS);
    place.deadAtMs = nowMs + DEAD_LOOKS * lookMs;
    return { ticket: String(ticketUs), newcomerTicket, lookMs: position > 1 ? lookMs : undefined };
  }

  /** The process was granted what it waited for: its place is its next waiter's, or gone. As in GrantReply. */
  moveOn({ process, nextTicket }: Place, nowMs: number): number | undefined {
    if (this.turn?.process === process) this.turn = undefined;
    if (nextTicket === undefined) {
      this.remove(process);
      return undefined;
    }
    return this.stand({ process, ticket: nextTicket }, nowMs).lookMs ?? SAFETY_MS;
  }

  leave(process: string): void {
    this.remove(process);
    if (this.turn?.process === process) this.turn = undefined;
  }

  /** How many are ahead of the process; all where it neither stands here nor has a ticket. */
  ahead(place: Place | undefined): number {
    const standing = place && this.byProcess.get(place.process)?.ticketUs;
    const ticketUs = Math.max(standing ?? 0, Number(place?.ticket ?? 0));
    return ticketUs === 0 ? this.length : this.indexOf(ticketUs);
  }

  /** The first that lives and has not missed its turn; those before it are taken out. Whoever is asking lives. */
  first(asking: string | undefined, nowMs: number): string | undefined {
    for (;;) {
      const head = this.places[0];
      if (!head || head.process === asking) return head?.process;
      const missed = this.turn?.process === head.process && this.turn.endsMs < nowMs;
      if (!missed && head.deadAtMs > nowMs) return head.process;
      this.remove(head.process);
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
    return [this.places[0]?.process, this.places[1]?.process];
  }

  private newcomerTicket(nowMs: number): number {
    return Math.max((this.places.at(-1)?.ticketUs ?? 0) + 1, Math.floor(nowMs * 1_000));
  }

  private insert(place: StandingPlace): void {
    this.places.splice(this.indexOf(place.ticketUs + 1), 0, place); // behind those of the same ticket
    this.byProcess.set(place.process, place);
  }

  private remove(process: string): void {
    const place = this.byProcess.get(process);
    if (!place) return;
    this.byProcess.delete(process);
    this.places.splice(this.places.indexOf(place, this.indexOf(place.ticketUs)), 1);
  }

  /** How many tickets are lower. */
  private indexOf(ticketUs: number): number {
    let [from, to] = [0, this.places.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.places[middle] as StandingPlace).ticketUs < ticketUs) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
