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
  const troubles = events.filter(({ kind }) => ['fault', 'paused', 'died'].includes(kind));
  return asks.flatMap(({ ask, told }): Violation[] => {
    if (told?.answer !== 'busy' && told?.answer !== 'timed-out') return [];
    const from = told.answer === 'busy' ? ask.at - IDLE_BOUND_MS : ask.at;
    if (troubles.some(({ at }) => at >= from - SHADOW_MS && at <= told.at)) return [];
    const idleMs = longestIdleMs(asks, from, told.at);
    if (idleMs < IDLE_BOUND_MS) return [];
    const what = `${ask.id} was told ${told.answer} of "${ask.name}", which nobody had for ${idleMs.toFixed(0)} ms`;
    return [{ rule: 'unexplained busy', at: told.at, what }];
  });
}

/** The longest time between `from` and `to` in which nobody was inside. */
function longestIdleMs(asks: readonly Ask[], from: number, to: number): number {
  const holds = asks
    .flatMap(({ hold }) => (hold ? [hold] : []))
    .toSorted((a, b) => a.enteredAt - b.enteredAt);
  let [idleMs, since] = [0, from];
  for (const { enteredAt, leftAt = Infinity } of holds) {
    if (enteredAt >= to) break;
    idleMs = Math.max(idleMs, enteredAt - since);
    since = Math.max(since, leftAt);
  }
  return Math.max(idleMs, to - since);
}
