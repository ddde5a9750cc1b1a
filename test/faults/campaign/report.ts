import type { HistoryReport } from '../checker/report.js';
import { tookLock } from './answers.js';
import { cutQuestions } from './cut-questions.js';
import type { Journal } from './journal.js';

/** What was done about one kind of fault, and how long nobody could work. */
export interface FaultFigures {
  readonly times: number;
  /** The longest time without a lock granted by a replica, from an injection to the recovery of all; ms. */
  readonly longestUnavailableMs: number;
  /** The longest time from the repair until every replica had worked again; ms. */
  readonly longestRecoveryMs: number;
}

/** What a campaign amounts to. */
export interface CampaignReport {
  readonly seed: number;
  readonly store: string;
  readonly database: string;
  readonly seconds: number;
  readonly faults: Readonly<Record<string, FaultFigures>>;
  /** How many requests there were of each kind and answer. */
  readonly operations: Readonly<Record<string, number>>;
  /** What the history checker has counted. */
  readonly history: Omit<HistoryReport, 'violations' | 'faults' | 'asks'>;
  /** Runs whose lease ended under them, and who were told so. */
  readonly lossesTold: number;
  /** Questions with an Idempotency-Key that a kill -9 cut in the middle. */
  readonly cutQuestions: number;
  /** What could not be done here, and why. */
  readonly skipped: readonly string[];
  /** Must be empty. */
  readonly violations: readonly string[];
}

/** Sums a campaign up. */
export function reportOf(
  run: Pick<CampaignReport, 'seed' | 'store' | 'database'> & { readonly startedAt: number },
  journal: Journal,
  { grants, losses, accepted, refused, excusedOverlaps, excusedFences }: HistoryReport,
): CampaignReport {
  const { seed, store, database, startedAt } = run;
  return {
    seed,
    store,
    database,
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    faults: figures(journal),
    operations: answersOf(journal),
    history: { grants, losses, accepted, refused, excusedOverlaps, excusedFences },
    lossesTold: journal.operations.filter(({ code }) => code === 'lease_lost').length,
    cutQuestions: cutQuestions(journal).length,
    skipped: journal.skipped,
    violations: journal.violations,
  };
}

/** How many requests there were of each kind and answer. */
export function answersOf({ operations }: Journal): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind, status, code } of operations) {
    const answer = status === undefined ? 'no answer' : [status, code ?? 'ok'].join(' ');
    const key = `${kind}: ${answer}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).toSorted(([a], [b]) => a.localeCompare(b)));
}

function figures(journal: Journal): Record<string, FaultFigures> {
  const figuresByKind: Record<string, FaultFigures> = {};
  for (const { kind, at, healedAt, recoveredAt = Infinity } of journal.faults) {
    const { times, longestUnavailableMs, longestRecoveryMs } = figuresByKind[kind] ?? {
      times: 0,
      longestUnavailableMs: 0,
      longestRecoveryMs: 0,
    };
    figuresByKind[kind] = {
      times: times + 1,
      longestUnavailableMs: Math.max(longestUnavailableMs, longestGap(journal, at, recoveredAt)),
      longestRecoveryMs: Math.max(longestRecoveryMs, recoveredAt - healedAt),
    };
  }
  return figuresByKind;
}

/** The longest time between two successes of one replica in a span, the worst of all replicas. */
function longestGap({ operations }: Journal, from: number, to: number): number {
  const latest = new Map<string, number>();
  let longest = 0;
  const successes = operations
    .filter((one) => tookLock(one) && one.endedAt >= from && one.endedAt <= to)
    .toSorted((a, b) => a.endedAt - b.endedAt);
  for (const { replica, endedAt } of successes) {
    longest = Math.max(longest, endedAt - (latest.get(replica) ?? from));
    latest.set(replica, endedAt);
  }
  return longest;
}

/** The report for people. */
export function print(report: CampaignReport, say: (line: string) => void): void {
  say(`Seed ${report.seed}, ${report.store}, ${report.database}, ${report.seconds} s.`);
  say('');
  say('Faults                          times   longest unavailable   longest recovery');
  for (const [kind, { times, longestUnavailableMs, longestRecoveryMs }] of Object.entries(
    report.faults,
  )) {
    const unavailable = `${longestUnavailableMs} ms`.padStart(22);
    say(
      `  ${kind.padEnd(28)}${String(times).padStart(7)}${unavailable}${`${longestRecoveryMs} ms`.padStart(19)}`,
    );
  }
  say('');
  say('Requests and their answers');
  for (const [what, count] of Object.entries(report.operations)) {
    say(`  ${what.padEnd(45)}${String(count).padStart(7)}`);
  }
  const { grants, accepted, excusedOverlaps, excusedFences } = report.history;
  say('');
  say(
    `${grants} grants, ${accepted} accepted writes, ${report.lossesTold} losses told, ${report.cutQuestions} keyed questions cut by kill -9, ${excusedOverlaps} overlaps after the store had lost locks (the fence held), ${excusedFences} excused fences.`,
  );
  for (const what of report.skipped) say(`Skipped: ${what}`);
  say(`${report.violations.length} violations.`);
  for (const violation of report.violations) say(`  ! ${violation}`);
}
