import type { FaultEvent, HistoryEvent } from './history.js';

/** The faults under which a store cannot keep its promises, and where its clock stood. */
export class BrokenPromises {
  private readonly faults: readonly FaultEvent[];

  constructor(events: readonly HistoryEvent[]) {
    this.faults = events.filter(
      (event): event is FaultEvent =>
        event.kind === 'fault' &&
        (event.losesLocks === true || event.losesFences === true || Boolean(event.serverClockMs)),
    );
  }

  /** When a lock may last have ended before its time: it was lost, or the store's clock jumped ahead. */
  lastBetween(from: number, to: number): number | undefined {
    return this.within(from, to).findLast(
      ({ losesLocks, serverClockMs }) => losesLocks === true || (serverClockMs ?? 0) > 0,
    )?.at;
  }

  /**
   * A later fence may be no higher than an earlier one: the store lost the earlier one in between, and
   * its clock had not come to where it was before.
   */
  fencesBetween(earlier: Span, later: Span): boolean {
    const lost = this.within(earlier.askedAt, later.enteredAt).some(
      ({ losesFences }) => losesFences === true,
    );
    return lost && this.lowestClock(later) <= this.highestClock(earlier.enteredAt) + CLOCK_GRAIN_MS;
  }

  private within(from: number, to: number): readonly FaultEvent[] {
    return this.faults.filter(({ at }) => at >= from && at <= to);
  }

  /** The lowest reading of the store's clock (against that of the history) within a span. */
  private lowestClock({ askedAt, enteredAt }: Span): number {
    let lowest = askedAt + this.offsetBefore(askedAt);
    for (const { at } of this.within(askedAt, enteredAt)) {
      lowest = Math.min(lowest, at + this.offsetAfter(at));
    }
    return lowest;
  }

  /** The highest reading of the store's clock up to `until`. */
  private highestClock(until: number): number {
    let highest = until + this.offsetAfter(until);
    for (const { at } of this.within(-Infinity, until)) {
      highest = Math.max(highest, at + this.offsetBefore(at), at + this.offsetAfter(at));
    }
    return highest;
  }

  private offsetBefore(time: number): number {
    return this.faults.reduce((sum, fault) => sum + (fault.at < time ? step(fault) : 0), 0);
  }

  private offsetAfter(time: number): number {
    return this.faults.reduce((sum, fault) => sum + (fault.at <= time ? step(fault) : 0), 0);
  }
}

/** Within it a lock was granted. */
export interface Span {
  readonly askedAt: number;
  readonly enteredAt: number;
}

/** Fences of one instant differ by microseconds, above the clock where it stands still. */
const CLOCK_GRAIN_MS = 1;

function step({ serverClockMs }: FaultEvent): number {
  return serverClockMs ?? 0;
}
