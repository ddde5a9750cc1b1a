import { checkHistory } from '../checker/check-history.js';
import type { HistoryReport } from '../checker/report.js';
import type { AcceptedWrite } from './audit.js';
import { historyOf } from './history-of.js';
import type { Journal, Operation } from './journal.js';
import type { Testimony } from './testimony.js';

/** A run, or an upload, that was answered well, with the fence that its answer tells. */
interface Success {
  readonly operation: Operation;
  readonly fence: bigint;
}

/** Judges leases and writes by the history checker, and the answers by the writes. Adds to the journal's violations. */
export function verdict(
  writes: readonly AcceptedWrite[],
  testimony: readonly Testimony[],
  journal: Journal,
): HistoryReport {
  const report = checkHistory(historyOf(writes, testimony, journal));
  for (const { rule, what, at } of report.violations) {
    journal.violation(`${new Date(at).toISOString()} ${rule}: ${what}`);
  }
  const byDocument = new Map<string, Success[]>();
  for (const success of journal.operations.flatMap(successOf)) {
    const { document } = success.operation;
    byDocument.set(document, [...(byDocument.get(document) ?? []), success]);
  }
  const states = finalStates(writes);
  for (const successes of byDocument.values()) {
    for (const what of [...outOfOrder(successes), ...untrue(successes, states)]) {
      journal.violation(what);
    }
  }
  return report;
}

function successOf(operation: Operation): Success[] {
  const { kind, status, body } = operation;
  if (!['process', 'upload'].includes(kind) || status === undefined || status > 201) return [];
  return [{ operation, fence: BigInt((body as { fence: string }).fence) }];
}

/**
 * No fence was answered twice, but to callers of one replica that waited for the same run together; and whoever asked after an
 * answer got a higher fence than it told.
 */
function outOfOrder(successes: readonly Success[]): string[] {
  const found: string[] = [];
  const byFence = new Map<bigint, Operation>();
  for (const { operation, fence } of successes) {
    const twin = byFence.get(fence);
    if (twin && !waitedTogether(twin, operation))
      found.push(`${name(operation)} and ${name(twin)} both went well under ${fence}`);
    byFence.set(fence, operation);
  }
  const ended = successes.toSorted((a, b) => a.operation.endedAt - b.operation.endedAt);
  let [next, highest] = [0, -1n];
  for (const one of successes.toSorted((a, b) => a.operation.sentAt - b.operation.sentAt)) {
    for (
      ;
      next < ended.length && ended[next]!.operation.endedAt < one.operation.sentAt;
      next += 1
    ) {
      if (ended[next]!.fence > highest) highest = ended[next]!.fence;
    }
    if (one.fence <= highest) {
      found.push(
        `${name(one.operation)} got fence ${one.fence} after ${highest} had been answered`,
      );
    }
  }
  return found;
}

/** Both stood in the queue of one replica for the document, and so for the run that came. */
function waitedTogether(one: Operation, other: Operation): boolean {
  const areOrders = one.kind === 'process' && other.kind === 'process';
  const overlap = one.sentAt <= other.endedAt && other.sentAt <= one.endedAt;
  return areOrders && overlap && one.replica === other.replica;
}

/** What was answered well is what the database took: the last that it took under that fence. */
function untrue(successes: readonly Success[], states: ReadonlyMap<string, string>): string[] {
  return successes.flatMap(({ operation, fence }) => {
    const state = states.get(`doc:${operation.document}#${fence}`);
    const isTrue = operation.kind === 'process' ? state === 'ready' : state !== undefined;
    return isTrue
      ? []
      : [`${name(operation)} went well under ${fence}, under which the database took: ${state}`];
  });
}

function finalStates(writes: readonly AcceptedWrite[]): Map<string, string> {
  const states = new Map<string, string>();
  for (const { source, name: lock, fence, state } of writes) {
    if (source === 'documents') states.set(`${lock}#${fence}`, state ?? '');
  }
  return states;
}

function name({ kind, document, replica, sentAt }: Operation): string {
  return `${kind} of ${document} at ${replica} (${new Date(sentAt).toISOString()})`;
}
