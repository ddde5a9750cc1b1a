import type { WriteEvent } from './history.js';
import type { Hold } from './holds.js';
import type { Violation } from './report.js';

/**
 * The resource of one name, in its own order: nothing with an older fence is accepted after something
 * newer, nothing is refused without that, and every write carries its own holder's fence.
 */
export function checkWrites(
  writes: readonly WriteEvent[],
  holds: readonly Hold[],
): readonly Violation[] {
  const violations: Violation[] = [];
  const fenceOf = new Map(holds.map(({ id, fence }) => [id, fence]));
  let newest = -1n;
  for (const { at, id, name, fence, accepted } of writes) {
    if (fenceOf.get(id) !== fence) {
      violations.push({ rule: 'malformed', at, what: `${id} wrote with a fence not its own` });
    }
    if (accepted && fence < newest) {
      const what = `"${name}" accepted ${fence} of ${id} after ${newest}`;
      violations.push({ rule: 'write', at, what });
    } else if (!accepted && fence >= newest) {
      const what = `"${name}" refused ${fence} of ${id} although it had seen no newer one`;
      violations.push({ rule: 'refusal', at, what });
    }
    if (accepted && fence > newest) newest = fence;
  }
  return violations;
}
