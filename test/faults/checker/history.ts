/**
 * What was seen of a name's asks, holds and writes, and of the faults meanwhile. Times are in ms on
 * one clock for all processes (the simulation's own; on one machine the monotonic clock). An `id` is
 * one ask and the hold it leads to.
 */
export type HistoryEvent =
  | AskEvent
  | ToldEvent
  | EnterEvent
  | ProvenEvent
  | ExitEvent
  | LetGoEvent
  | WriteEvent
  | FaultEvent
  | PausedEvent
  | DiedEvent
  | LeftEvent;

/** Somebody wants the lock, and must have an answer within `patienceMs`, pauses of its process not counted. */
export interface AskEvent {
  readonly kind: 'ask';
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly process: string;
  readonly patienceMs: number;
  /** Asked for together with others: it may be had before the entry, while those are waited for. */
  readonly inSet?: boolean;
}

/** The answer of an ask that got no lease; `incomplete`: because of another one of its set. */
export interface ToldEvent {
  readonly kind: 'told';
  readonly at: number;
  readonly id: string;
  readonly answer: 'busy' | 'timed-out' | 'unavailable' | 'aborted' | 'lost' | 'incomplete';
}

/** The work begins, under a lease that says it is valid until `until`. */
export interface EnterEvent {
  readonly kind: 'enter';
  readonly at: number;
  readonly id: string;
  readonly fence: bigint;
  readonly until: number;
  /** The life of its key after each renewal. */
  readonly ttlMs: number;
}

/** `assertHeld()` did not throw at `at`, and the lease said it was valid until `until`. */
export interface ProvenEvent {
  readonly kind: 'proven';
  readonly at: number;
  readonly id: string;
  readonly until: number;
  readonly ttlMs: number;
}

/** The work has ended, or was told that its lease is lost: from here on nothing is claimed. */
export interface ExitEvent {
  readonly kind: 'exit';
  readonly at: number;
  readonly id: string;
  readonly why: 'released' | 'lost';
}

/** A lost lease was released: until then its key may live on, or what is left of it. */
export interface LetGoEvent {
  readonly kind: 'let-go';
  readonly at: number;
  readonly id: string;
}

/** The protected resource took a write, or refused it for its fence. In the resource's own order. */
export interface WriteEvent {
  readonly kind: 'write';
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly fence: bigint;
  readonly accepted: boolean;
}

/** Something was broken on purpose. Without the optional parts it breaks none of the store's promises. */
export interface FaultEvent {
  readonly kind: 'fault';
  readonly at: number;
  readonly what: string;
  /** The store forgot locks that were granted or renewed. */
  readonly losesLocks?: boolean;
  /** The store forgot fences that were granted. */
  readonly losesFences?: boolean;
  /** The store's clock goes on this much later (or, negative, earlier) than before, in ms. */
  readonly serverClockMs?: number;
}

/** A process did nothing until `until` (stopped, or its event loop blocked). */
export interface PausedEvent {
  readonly kind: 'paused';
  readonly at: number;
  readonly process: string;
  readonly until: number;
}

/** A process ended without a word; its holds end with it. */
export interface DiedEvent {
  readonly kind: 'died';
  readonly at: number;
  readonly process: string;
}

/** Something that should be gone was still there when all was over. */
export interface LeftEvent {
  readonly kind: 'left';
  readonly at: number;
  readonly what: string;
}

/** The events in the order of time; those of one instant as they were given. */
export function inOrder(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  return events.toSorted((a, b) => a.at - b.at);
}
