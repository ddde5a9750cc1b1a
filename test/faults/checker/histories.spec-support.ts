import { checkHistory } from './check-history.js';
import type { AskEvent, EnterEvent, FaultEvent, HistoryEvent } from './history.js';

/** One hold of one lock, from the ask to the exit. */
export interface HoldShape {
  readonly id: string;
  readonly name?: string;
  readonly process?: string;
  readonly askedAt?: number;
  readonly enteredAt: number;
  /** undefined: it never leaves. */
  readonly leftAt: number | undefined;
  readonly fence: bigint;
  /** How long the lease says it is valid, from the entry on. */
  readonly validMs?: number;
  readonly why?: 'released' | 'lost';
}

/** Process `p-<id>` asks for a lock, of the name `doc:1` unless told otherwise. */
export function ask(id: string, at: number, more: Partial<AskEvent> = {}): AskEvent {
  return { kind: 'ask', at, id, name: 'doc:1', process: `p-${id}`, patienceMs: 1_000, ...more };
}

/** What a hold of that shape leaves in a history. */
export function hold(shape: HoldShape): HistoryEvent[] {
  const { id, enteredAt, leftAt, fence, validMs = 1_000, why = 'released' } = shape;
  const { askedAt = enteredAt - 1, name = 'doc:1', process = `p-${id}` } = shape;
  const enter: EnterEvent = {
    kind: 'enter',
    at: enteredAt,
    id,
    fence,
    until: enteredAt + validMs,
    ttlMs: validMs,
  };
  const exit: HistoryEvent[] = leftAt === undefined ? [] : [{ kind: 'exit', at: leftAt, id, why }];
  return [ask(id, askedAt, { name, process }), enter, ...exit];
}

/** The resource is written to under a fence, and takes it or not. */
export function write(id: string, at: number, fence: bigint, accepted: boolean): HistoryEvent {
  return { kind: 'write', at, id, name: 'doc:1', fence, accepted };
}

/** Something was broken. */
export function fault(at: number, rest: Partial<FaultEvent>): FaultEvent {
  return { kind: 'fault', at, what: 'a fault', ...rest };
}

/** The first hold of a right history, changed as told. */
export const a = (shape: Partial<HoldShape> = {}) =>
  hold({ id: 'a', enteredAt: 10, leftAt: 100, fence: 5n, ...shape });

/** The second one, which comes after it. */
export const b = (shape: Partial<HoldShape> = {}) =>
  hold({ id: 'b', enteredAt: 110, leftAt: 200, fence: 6n, ...shape });

/** Which rules the checker finds broken. */
export const rules = (...events: HistoryEvent[]) =>
  checkHistory(events).violations.map(({ rule }) => rule);
