import { PLACE_DEAD_MS, TURN_MS } from '../../../../src/lock/core/lock-store.js';

interface StandingProcess {
  readonly process: string;
  readonly ticket: number;
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

  /** Takes or keeps a place; returns its ticket. */
  stand(process: string, oldTicket: string | undefined, now: number): string {
    this.keepUntil = now + KEEP_MS;
    let place = this.standing.find((one) => one.process === process);
    if (place) place.seenAt = now;
    else {
      const newest = this.standing.at(-1)?.ticket ?? 0;
      const ticket =
        oldTicket === undefined ? Math.max(newest + 1, Math.floor(now * 1000)) : Number(oldTicket);
      place = { process, ticket, seenAt: now };
      this.standing = [...this.standing, place].toSorted((a, b) => a.ticket - b.ticket);
    }
    return String(place.ticket);
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
    return { leftMs: this.turn.until - now, isNew };
  }

  standby(): string | undefined {
    return this.standing[1]?.process;
  }
}
