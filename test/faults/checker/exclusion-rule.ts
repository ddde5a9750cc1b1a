import type { BrokenPromises } from './broken-promises.js';
import type { Hold } from './holds.js';
import type { Findings, Violation } from './report.js';

/**
 * No two proven intervals of one name overlap, unless the store was made to break its promise between
 * the earlier one's ask and the later one's entry.
 */
export function checkExclusion(holds: readonly Hold[], broken: BrokenPromises): Findings {
  const violations: Violation[] = [];
  let excused = 0;
  let running: Hold[] = [];
  for (const hold of holds) {
    running = running.filter(({ provenUntil }) => provenUntil > hold.enteredAt);
    for (const other of running) {
      if (hold.provenUntil <= hold.enteredAt) continue; // it has proven nothing
      const since = Math.min(other.askedAt, hold.askedAt);
      if (broken.locksBetween(since, hold.enteredAt)) excused += 1;
      else violations.push({ rule: 'overlap', at: hold.enteredAt, what: overlap(other, hold) });
    }
    running.push(hold);
  }
  return { violations, excused };
}

function overlap(first: Hold, second: Hold): string {
  const shared = Math.min(first.provenUntil, second.provenUntil) - second.enteredAt;
  return `${first.id} and ${second.id} both held "${first.name}" for ${shared.toFixed(2)} ms`;
}
