import type { HistoryEvent, PausedEvent } from './history.js';
import type { Ask } from './holds.js';
import type { Violation } from './report.js';

/** Every ask is served or told in time, and every hold ends, unless its process died. */
export function checkAnswers(
  asks: readonly Ask[],
  events: readonly HistoryEvent[],
): readonly Violation[] {
  const pauses = events.filter((event): event is PausedEvent => event.kind === 'paused');
  const endOfHistory = events.at(-1)?.at ?? 0;
  return asks.flatMap(({ ask, told, hold, diedAt }): Violation[] => {
    const { id, at, process, patienceMs } = ask;
    const answeredAt = told?.at ?? hold?.enteredAt;
    const end = answeredAt ?? diedAt ?? endOfHistory;
    const pausedMs = pauses
      .filter((pause) => pause.process === process)
      .reduce((sum, pause) => sum + shared(pause, at, end), 0);
    const lateMs = end - at - pausedMs - patienceMs;
    if (answeredAt === undefined && diedAt === undefined) {
      return [{ rule: 'unanswered', at, what: `${id} was neither served nor told anything` }];
    }
    if (lateMs > 0) {
      const what = `${id} was answered ${lateMs.toFixed(2)} ms later than it may be`;
      return [{ rule: 'late answer', at: end, what }];
    }
    if (hold && hold.leftAt === undefined) {
      return [{ rule: 'still inside', at: hold.enteredAt, what: `${id} never left` }];
    }
    return [];
  });
}

function shared(pause: PausedEvent, from: number, to: number): number {
  return Math.max(0, Math.min(pause.until, to) - Math.max(pause.at, from));
}
