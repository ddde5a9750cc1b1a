import { expect } from '@jest/globals';
import { type Database } from '../../src/database/index.js';

/** What the log of the archiver's ticks holds, oldest instant first; runs by hand are left out. */
export async function scheduledTicks(database: Database) {
  const rows = await database.kysely
    .selectFrom('ticks')
    .selectAll()
    .where('scheduled_at', 'is not', null)
    .orderBy('scheduled_at')
    .orderBy('fence')
    .execute();
  return rows.map(({ scheduled_at, outcome, replica, fence, detail }) => ({
    atMs: Number(scheduled_at),
    outcome,
    replica,
    fence,
    detail,
  }));
}

/**
 * Looks at all ticks so far: no instant was run twice (whatever became of the run), the fences rise
 * with the instants, and few seconds from the first to the last were left out (replicas share two
 * cores with other tests). Gives those that ran.
 */
export async function expectEverySecondOnce(database: Database, most = 12) {
  const ticks = await scheduledTicks(database);
  const runs = ticks.filter(({ outcome }) => ['ran', 'failed', 'running'].includes(outcome));
  const instants = runs.map(({ atMs }) => atMs);
  expect(instants).toEqual([...new Set(instants)]);
  expect(instants.filter((atMs) => atMs % 1_000 !== 0)).toEqual([]);
  const fences = runs.map(({ fence }) => fence ?? 0n);
  expect(fences).toEqual(fences.toSorted((a, b) => (a < b ? -1 : 1)));
  const seconds = ((instants.at(-1) ?? 0) - (instants[0] ?? 0)) / 1_000 + 1;
  const held = new Set(
    ticks.filter(({ outcome }) => outcome === 'skipped-held').map(({ atMs }) => atMs),
  );
  const left = Array.from({ length: seconds }, (_, index) => (instants[0] ?? 0) + index * 1_000)
    .filter((atMs) => !instants.includes(atMs))
    .filter((atMs) => !held.has(atMs)); // the run before took longer than a second
  expect(left.length).toBeLessThanOrEqual(most);
  return runs;
}
