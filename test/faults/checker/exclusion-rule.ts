import type { BrokenPromises } from './broken-promises.js';
import type { Hold } from './holds.js';
import type { Findings, Violation } from './report.js';

/**
 * No two proven intervals of one name overlap, unless the store was made to break its promise between
 * the earlier ask and the later entry. Then one of the two goes on for as long as its last renewal
 * before that lasts, and no longer: the next one tells it.
 */
export function checkExclusion(holds: readonly Hold[], broken: BrokenPromises): Findings {
  const violations: Violation[] = [];
  let excused = 0;
  let running: Hold[] = [];
  for (const hold of holds) {
    running = running.filter(({ provenUntil }) => provenUntil > hold.enteredAt);
    for (const other of running) {
      if (hold.provenUntil <= hold.enteredAt) continue; // it has proven nothing
      if (isExcused(other, hold, broken)) excused += 1;
      else violations.push({ rule: 'overlap', at: hold.enteredAt, what: overlap(other, hold) });
    }
    running.push(hold);
  }
  return { violations, excused };
}

function isExcused(first: Hold, second: Hold, broken: BrokenPromises): boolean {
  const since = Math.min(first.askedAt, second.askedAt);
  const brokenAt = broken.lastBetween(since, second.enteredAt);
  if (brokenAt === undefined) return false;
  return [first, second].some(
    ({ askedAt, provenUntil, ttlMs }) => askedAt <= brokenAt && provenUntil <= brokenAt + ttlMs,
  );
}

function overlap(first: Hold, second: Hold): string {
  const shared = Math.min(first.provenUntil, second.provenUntil) - second.enteredAt;
  return `${first.id} and ${second.id} both held "${first.name}" for ${shared.toFixed(2)} ms`;
}
