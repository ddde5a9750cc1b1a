import type { BrokenPromises } from '../../checker/broken-promises.js';

/** A time in which a key was used, as far as it is proven that the user held its lease. In ms since the epoch. */
export interface KeyUse {
  readonly id: string;
  readonly key: string;
  /** Not later than the lease was granted. */
  readonly askedAt: number;
  readonly from: number;
  readonly until: number;
}

/** What the uses of keys amount to. */
export interface KeyFindings {
  /** The most proven uses that one key had at once without a broken promise. */
  readonly mostAtOnce: number;
  /** Uses too many after the store had lost what it was told. */
  readonly excused: number;
  readonly violations: readonly string[];
}

/**
 * No key has more proven uses at once than `limit`, unless the store was made to lose its data after one of
 * them was granted. Then those that it forgot go on for as long as a lease lasts, and no longer: the next
 * renewal tells them.
 */
export function checkKeys(
  uses: readonly KeyUse[],
  limit: number,
  leaseMs: number,
  broken: BrokenPromises,
): KeyFindings {
  const violations: string[] = [];
  let [mostAtOnce, excused] = [0, 0];
  for (const key of new Set(uses.map((use) => use.key))) {
    let running: KeyUse[] = [];
    for (const use of uses.filter((one) => one.key === key).toSorted((a, b) => a.from - b.from)) {
      running = [...running.filter(({ until }) => until > use.from), use];
      if (running.length > limit) {
        if (remembered(running, leaseMs, broken).length <= limit) excused += 1;
        else violations.push(tooMany(running, limit));
      } else mostAtOnce = Math.max(mostAtOnce, running.length);
    }
  }
  return { mostAtOnce, excused, violations };
}

/** Those that the store must have counted when the last of them was granted. */
function remembered(
  running: readonly KeyUse[],
  leaseMs: number,
  broken: BrokenPromises,
): readonly KeyUse[] {
  const since = Math.min(...running.map(({ askedAt }) => askedAt));
  const lostAt = broken.lastBetween(since, Math.max(...running.map(({ from }) => from)));
  if (lostAt === undefined) return running;
  return running.filter(({ askedAt, until }) => askedAt > lostAt || until > lostAt + leaseMs);
}

function tooMany(running: readonly KeyUse[], limit: number): string {
  const uses = running.map(({ id, from, until }) => `${id} (${stamp(from)} to ${stamp(until)})`);
  return `the key ${running[0]?.key} was used by ${running.length} at once, at most ${limit} may: ${uses.join(', ')}`;
}

function stamp(ms: number): string {
  return new Date(ms).toISOString().slice(11);
}
