import {
  type Place,
  PLACE_DEAD_MS,
  SAFETY_MS,
  TURN_MS,
} from '../../../../src/lock/core/lock-store.js';

interface StandingProcess {
  readonly process: string;
  ticket: number;
  seenAt: number;
}

const KEEP_MS = 600_000;

/** The model's line for one lock. Written from the contract, by plain lists. Times are the server's, in ms. */
export class ModelLine {
  private standing: StandingProcess[] = [];
  private turn: { process: string; until: number } | undefined;
  private keepUntil = 0;

  copy(): ModelLine {
    const copy = new ModelLine();
    copy.standing = this.standing.map((one) => ({ ...one }));
    copy.turn = this.turn;
    copy.keepUntil = this.keepUntil;
    return copy;
  }

  lengthAt(now: number): number {
    if (now >= this.keepUntil) this.standing = [];
    return this.standing.length;
  }

  /** Takes or keeps a place, or moves it back to a later ticket. */
  stand({ process, ticket }: Place, now: number): { ticket: string; newcomerTicket: number } {
    this.keepUntil = now + KEEP_MS;
    const newcomerTicket = Math.max(
      (this.standing.at(-1)?.ticket ?? 0) + 1,
      Math.floor(now * 1000),
    );
    const known = this.standing.find((one) => one.process === process);
    const brought = ticket === undefined ? undefined : Math.min(Number(ticket), newcomerTicket);
    const place = known ?? { process, ticket: brought ?? newcomerTicket, seenAt: now };
    place.seenAt = now;
    place.ticket = Math.max(place.ticket, brought ?? 0);
    if (!known) this.standing.push(place);
    this.standing.sort((a, b) => a.ticket - b.ticket);
    return { ticket: String(place.ticket), newcomerTicket };
  }

  /** The process was granted what it waited for: its place is that of its next waiter, if there is one. */
  moveOn({ process, nextTicket }: Place, now: number): number | undefined {
    if (nextTicket === undefined) {
      this.leave(process);
      return undefined;
    }
    if (this.turn?.process === process) this.turn = undefined;
    this.stand({ process, ticket: nextTicket }, now);
    return SAFETY_MS;
  }

  leave(process: string): void {
    this.standing = this.standing.filter((one) => one.process !== process);
    if (this.turn?.process === process) this.turn = undefined;
  }

  /** Whose lock it is when it is free. The dead and those that missed their turn are taken out. */
  head(asking: string | undefined, now: number): string | undefined {
    this.lengthAt(now);
    for (let first = this.standing[0]; first; first = this.standing[0]) {
      if (first.process === asking) return asking;
      const missed = this.turn?.process === first.process && this.turn.until < now;
      if (!missed && first.seenAt > now - PLACE_DEAD_MS) return first.process;
      this.standing.shift();
    }
    return undefined;
  }

  /** Keeps the lock for `process`. True where that is new: then it has to be woken. */
  reserve(process: string, now: number): { leftMs: number; isNew: boolean } {
    const isNew = this.turn?.process !== process || this.turn.until < now;
    if (isNew || !this.turn) this.turn = { process, until: now + TURN_MS };
    // The clock may have been set back since.
    this.turn = { process, until: Math.min(this.turn.until, now + TURN_MS) };
    return { leftMs: this.turn.until - now, isNew };
  }

  standby(): string | undefined {
    return this.standing[1]?.process;
  }
}
