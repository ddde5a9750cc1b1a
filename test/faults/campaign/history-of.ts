import type { HistoryEvent } from '../checker/history.js';
import type { AcceptedWrite } from './audit.js';
import type { Journal } from './journal.js';
import { TTL_MS } from './timing.js';

/** How long before a hold's first sign a clock step makes its fence no evidence of the time of its grant. */
const UNCLEAR_MS = 30_000;
/** A loss so long before a grant may still explain what overlaps with it: the times come from two processes. */
const TOLERANCE_MS = 1_000;
/** After a loss a holder goes on until its lease is over; the loss is noted a moment before it happens. */
const LONGEST_LIFE_MS = 2 * TTL_MS;
/** Every holder asserts its lease before it writes at all, so the grant is proven; above the grain of the times. */
const INSTANT_MS = 0.001;
const STAGES = ['extract', 'chunk', 'embed', 'store', 'publish'];

interface Signs {
  readonly name: string;
  readonly fence: bigint;
  readonly writes: AcceptedWrite[];
}

/**
 * The history that the checker judges, from outside the replicas:
 * - Every fence of a name that the database has accepted is a hold.
 * - It entered when its fence was minted: fences are the server's microseconds. Before its first write
 *   it asserted that it is held: so the grant is proven. Where a step of that clock makes the time
 *   doubtful, it entered with its first accepted write, which is later and accuses nobody.
 * - A run enters each stage with a write and then asserts that it is held; so where a later stage's
 *   write is there, the lease was held when the earlier one's was made. A lease is never taken again,
 *   hence it was held from the entry to there: that is proven.
 * - It left with its last accepted write. What it did after that, nobody saw.
 * - Writes are those of the database, in its order.
 * So two holds overlap if one fence was minted while another holder was proven to hold, also where the
 * database then refused whatever the first one still sent. What is not seen: a second grant whose first
 * write comes before the next stage of the first holder; that the database refuses, that ticks ran once
 * and that no two runs went well tells what came of it. The engine's own exclusion is the simulation's.
 */
export function historyOf(writes: readonly AcceptedWrite[], journal: Journal): HistoryEvent[] {
  const events: HistoryEvent[] = journal.losses.map(({ what, at, ...rest }) => ({
    kind: 'fault',
    at,
    what,
    ...rest,
  }));
  for (const signs of signsOf(writes)) events.push(...holdOf(signs, journal));
  const latest = new Map<string, number>();
  for (const { name, fence, at } of writes) {
    if (fence === 0n) continue; // a fresh document under an id that nobody can know: no lock needed
    const inOrder = Math.max(at, latest.get(name) ?? 0); // the machine's clock may be corrected
    latest.set(name, inOrder);
    events.push({ kind: 'write', at: inOrder, id: idOf(name, fence), name, fence, accepted: true });
  }
  return events;
}

function holdOf({ name, fence, writes }: Signs, journal: Journal): HistoryEvent[] {
  const first = writes[0]!.at;
  const last = writes.at(-1)!.at;
  const grantedAt = mintedAt(fence, first, journal);
  const enteredAt = grantedAt ?? first;
  const atOnce = grantedAt === undefined ? enteredAt : enteredAt + INSTANT_MS;
  const provenAt = Math.max(atOnce, lastProven(writes));
  const id = idOf(name, fence);
  const at = enteredAt - TOLERANCE_MS;
  return [
    { kind: 'ask', at, id, name, process: id, patienceMs: Infinity },
    { kind: 'enter', at: enteredAt, id, fence, until: provenAt, ttlMs: LONGEST_LIFE_MS },
    { kind: 'exit', at: Math.max(last, provenAt), id, why: 'released' },
  ];
}

/** When a fence was minted; undefined where that is not certain. */
function mintedAt(fence: bigint, first: number, journal: Journal): number | undefined {
  const isUnclear = journal.losses.some(
    ({ serverClockMs, at }) => Boolean(serverClockMs) && at <= first && at >= first - UNCLEAR_MS,
  );
  if (isUnclear) return undefined;
  const ahead = journal.losses
    .filter(({ at }) => at <= first)
    .reduce((sum, { serverClockMs }) => sum + (serverClockMs ?? 0), 0);
  const minted = Number(fence) / 1_000 - ahead;
  // Otherwise it was counted up from a fence of a clock that was ahead, or waited for the database.
  return minted <= first && minted >= first - UNCLEAR_MS ? minted : undefined;
}

/** The last write of a run after which its lease was asserted: the one before its last stage's. */
function lastProven(writes: readonly AcceptedWrite[]): number {
  const stages = new Map<string, number>();
  for (const { source, state, stage, at } of writes) {
    const isRunning = source === 'documents' && state === 'processing' && stage !== null;
    // The first one: reports of progress follow it without another look at the lease.
    if (isRunning && !stages.has(stage)) stages.set(stage, at);
  }
  const isPublished = writes.some(({ state }) => state === 'ready');
  const entered = STAGES.flatMap((stage) => stages.get(stage) ?? []);
  return (isPublished ? entered.at(-1) : entered.at(-2)) ?? -Infinity;
}

function signsOf(writes: readonly AcceptedWrite[]): Signs[] {
  const signs = new Map<string, Signs>();
  for (const write of writes) {
    const { name, fence } = write;
    if (fence === 0n) continue;
    const id = idOf(name, fence);
    const known = signs.get(id);
    if (known) known.writes.push(write);
    else signs.set(id, { name, fence, writes: [write] });
  }
  return [...signs.values()];
}

function idOf(name: string, fence: bigint): string {
  return `${name}#${fence}`;
}
