import type { BrokenPromises } from './broken-promises.js';
import type { Hold } from './holds.js';
import type { Findings, Violation } from './report.js';

/**
 * Under one name every grant has a higher fence than all grants before it. `holds` are in the order
 * of their entries; that is the order of the grants where the earlier one had entered before the
 * later one was asked for, or where nothing broke the exclusion.
 */
export function checkFences(holds: readonly Hold[], broken: BrokenPromises): Findings {
  const violations: Violation[] = [];
  let excused = 0;
  let highest = -1n;
  for (const [index, hold] of holds.entries()) {
    if (hold.fence <= highest) {
      const earlier = holds.slice(0, index).filter(({ fence }) => fence >= hold.fence);
      const wrong = earlier.filter((one) => !isOrderUnknown(one, hold, broken));
      const unexcused = wrong.find(
        (one) => !broken.fencesBetween(one, hold) && !wasLostBetweenGrants(one, hold, broken),
      );
      if (unexcused) {
        const what = `${hold.id} got fence ${hold.fence} of "${hold.name}" after ${unexcused.id} had got ${unexcused.fence}`;
        violations.push({ rule: 'fence', at: hold.enteredAt, what });
      } else if (wrong.length > 0) excused += 1;
    } else highest = hold.fence;
  }
  return { violations, excused };
}

/**
 * The one that entered last may have been granted first, as a lock of a set is that waits for the others: its fence was
 * lost before the other one was granted, which then got the same.
 */
function wasLostBetweenGrants(first: Hold, second: Hold, broken: BrokenPromises): boolean {
  return (
    first.fence === second.fence &&
    first.enteredAt >= second.askedAt &&
    broken.fencesBetween(second, first)
  );
}

/** Both were asked for at the same time, and either may have been granted first. */
function isOrderUnknown(first: Hold, second: Hold, broken: BrokenPromises): boolean {
  if (first.fence === second.fence || first.enteredAt < second.askedAt) return false;
  const since = Math.min(first.askedAt, second.askedAt);
  return broken.lastBetween(since, second.enteredAt) !== undefined;
}
