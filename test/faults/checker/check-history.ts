import { checkAnswers } from './answer-rule.js';
import { BrokenPromises } from './broken-promises.js';
import { checkBusy } from './busy-rule.js';
import { checkExclusion } from './exclusion-rule.js';
import { checkFences } from './fence-rule.js';
import { type HistoryEvent, inOrder, type WriteEvent } from './history.js';
import { type Hold, readAsks } from './holds.js';
import type { HistoryReport, Violation } from './report.js';
import { checkWrites } from './write-rule.js';

/**
 * Proves, for a history that is over: no two proven intervals of one name overlap; fences rise with
 * grants; the resource accepts no older fence after a newer one; every ask has its answer in time, and
 * no refusal without a reason; nothing is left behind. What a fault excuses is counted instead. The
 * order of a resource's writes is that of the list where they share an instant.
 */
export function checkHistory(given: readonly HistoryEvent[]): HistoryReport {
  const events = inOrder(given);
  const { asks, malformed } = readAsks(events);
  const broken = new BrokenPromises(events);
  const holds = asks.flatMap(({ hold }) => (hold ? [hold] : []));
  const writes = events.filter((event): event is WriteEvent => event.kind === 'write');
  const violations: Violation[] = [
    ...malformed,
    ...checkAnswers(asks, events),
    ...events.flatMap((event): Violation[] =>
      event.kind === 'left' ? [{ rule: 'left behind', at: event.at, what: event.what }] : [],
    ),
  ];
  let [excusedOverlaps, excusedFences] = [0, 0];
  const asksByName = groupBy(asks, ({ ask }) => ask.name);
  const writesByName = groupBy(writes, ({ name }) => name);
  for (const name of new Set([...asksByName.keys(), ...writesByName.keys()])) {
    const asksOfName = asksByName.get(name) ?? [];
    const ofName = asksOfName.flatMap(({ hold }) => (hold ? [hold] : [])).toSorted(byEntry);
    const exclusion = checkExclusion(ofName, broken);
    const fences = checkFences(ofName, broken);
    violations.push(...exclusion.violations, ...fences.violations);
    violations.push(...checkWrites(writesByName.get(name) ?? [], ofName));
    violations.push(...checkBusy(asksOfName, events));
    excusedOverlaps += exclusion.excused;
    excusedFences += fences.excused;
  }
  return {
    asks: asks.length,
    grants: holds.length,
    losses: holds.filter(({ lost }) => lost).length,
    accepted: writes.filter(({ accepted }) => accepted).length,
    refused: writes.filter(({ accepted }) => !accepted).length,
    faults: countFaults(events),
    excusedOverlaps,
    excusedFences,
    violations: violations.toSorted((a, b) => a.at - b.at),
  };
}

function byEntry(a: Hold, b: Hold): number {
  return a.enteredAt - b.enteredAt;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

function countFaults(events: readonly HistoryEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const event of events) {
    const what = event.kind === 'fault' ? event.what : event.kind;
    if (['fault', 'paused', 'died'].includes(event.kind)) counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}
