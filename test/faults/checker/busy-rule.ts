import type { HistoryEvent } from './history.js';
import type { Ask } from './holds.js';
import type { Violation } from './report.js';

/** How long faults and what they leave behind (keys of the dead, places in the line) explain a refusal. */
const SHADOW_MS = 60_000;

/** The longest time a lock may lie idle while somebody wants it, where nothing was broken. */
export const IDLE_BOUND_MS = 5_000;

/**
 * Whoever is told that the lock is busy, or stayed so, was not kept from it by nobody: the asks of one
 * name are looked at where no fault can explain the refusal.
 */
export function checkBusy(
  asks: readonly Ask[],
  events: readonly HistoryEvent[],
): readonly Violation[] {
  const beginning = events[0]?.at ?? 0;
  const troubles = events.filter(({ kind }) => ['fault', 'paused', 'died'].includes(kind));
  return asks.flatMap(({ ask, told }): Violation[] => {
    if (told?.answer !== 'busy' && told?.answer !== 'timed-out') return [];
    const since = told.answer === 'busy' ? ask.at - IDLE_BOUND_MS : ask.at;
    const from = Math.max(since, beginning);
    if (troubles.some(({ at }) => at >= from - SHADOW_MS && at <= told.at)) return [];
    const idleMs = longestIdleMs(asks, from, told.at);
    if (idleMs < IDLE_BOUND_MS) return [];
    const what = `${ask.id} was told ${told.answer} of "${ask.name}", which nobody had for ${idleMs.toFixed(0)} ms`;
    return [{ rule: 'unexplained busy', at: told.at, what }];
  });
}

/** The longest time between `from` and `to` in which nobody had the lock, and every key had been given back. */
function longestIdleMs(asks: readonly Ask[], from: number, to: number): number {
  const spans = asks.flatMap(spansOf).toSorted((a, b) => a.start - b.start);
  let [idleMs, since] = [0, from];
  for (const { start, end } of spans) {
    if (start >= to) break;
    idleMs = Math.max(idleMs, start - since);
    since = Math.max(since, end);
  }
  return Math.max(idleMs, to - since);
}

/** When an ask had the lock, or may have had it. */
function spansOf({ ask, told, hold }: Ask): { start: number; end: number }[] {
  const spans = hold ? [{ start: hold.enteredAt, end: hold.freedAt ?? Infinity }] : [];
  if (ask.inSet) spans.push({ start: ask.at, end: told?.at ?? hold?.enteredAt ?? Infinity });
  return spans;
}
