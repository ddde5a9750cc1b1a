import type { HistoryEvent } from '../checker/history.js';
import type { AcceptedWrite } from './audit.js';
import type { Journal } from './journal.js';
import type { Testimony } from './testimony.js';
import { TTL_MS } from './timing.js';

/** A loss so long before a grant may still explain what overlaps with it: the times come from two processes. */
const TOLERANCE_MS = 1_000;
/** After a loss a holder goes on until its lease is over; the loss is noted a moment before it happens. */
const LONGEST_LIFE_MS = 2 * TTL_MS;

/**
 * The history that the checker judges:
 * - Every lease of a lock that an engine of a replica was granted is a hold: from the grant for as long as that engine
 *   would have let its work go on, by its last renewal, unless it was released or lost before. Two holders
 *   at once are found so, whatever they did meanwhile.
 * - Writes are those of the database, in its order. One under a fence that no engine was granted is found too.
 */
export function historyOf(
  writes: readonly AcceptedWrite[],
  testimony: readonly Testimony[],
  journal: Journal,
): HistoryEvent[] {
  const events: HistoryEvent[] = journal.losses.map(({ what, at, ...rest }) => ({
    kind: 'fault',
    at,
    what,
    ...rest,
  }));
  for (const said of byLease(testimony)) events.push(...holdOf(said));
  const latest = new Map<string, number>();
  for (const { name, fence, at } of writes) {
    if (fence === 0n) continue; // a fresh document under an id that nobody can know: no lock needed
    const inOrder = Math.max(at, latest.get(name) ?? 0); // the machine's clock may be corrected
    latest.set(name, inOrder);
    events.push({ kind: 'write', at: inOrder, id: idOf(name, fence), name, fence, accepted: true });
  }
  return events;
}

function byLease(testimony: readonly Testimony[]): Iterable<Testimony[]> {
  const leases = new Map<string, Testimony[]>();
  for (const one of testimony.filter(({ permit }) => permit === undefined)) {
    const key = `${one.process} ${idOf(one.name, one.fence)}`;
    const known = leases.get(key);
    if (known) known.push(one);
    else leases.set(key, [one]);
  }
  return leases.values();
}

/** A lease from its grant to its end; where nobody saw that, the process died, or the lease went on. */
function holdOf(said: readonly Testimony[]): HistoryEvent[] {
  const [{ at: enteredAt, name, fence, process }] = said as [Testimony];
  const id = idOf(name, fence);
  const left = said.find(({ kind }) => kind === 'left');
  const held = said.filter(({ kind }) => kind === 'held');
  const until = Math.max(enteredAt, ...held.map((one) => one.until));
  return [
    { kind: 'ask', at: enteredAt - TOLERANCE_MS, id, name, process, patienceMs: Infinity },
    { kind: 'enter', at: enteredAt, id, fence, until, ttlMs: LONGEST_LIFE_MS },
    { kind: 'exit', at: left?.at ?? until, id, why: 'released' },
  ];
}

function idOf(name: string, fence: bigint): string {
  return `${name}#${fence}`;
}
