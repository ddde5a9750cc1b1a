import type {
  AskEvent,
  EnterEvent,
  ExitEvent,
  HistoryEvent,
  LetGoEvent,
  ToldEvent,
} from './history.js';
import type { Violation } from './report.js';

/** One ask, and what became of it. */
export interface Ask {
  readonly ask: AskEvent;
  readonly told: ToldEvent | undefined;
  readonly hold: Hold | undefined;
  /** When its process died, if it did so after the ask. */
  readonly diedAt: number | undefined;
}

/** A lease and its proven interval: from the entry to the last instant for which it was proven. */
export interface Hold {
  readonly id: string;
  readonly name: string;
  readonly askedAt: number;
  readonly enteredAt: number;
  readonly provenUntil: number;
  /** When the work was over, by itself or by its process's death; undefined where it never was. */
  readonly leftAt: number | undefined;
  readonly lost: boolean;
  /** When its key was given back; undefined where that was left to its TTL. */
  readonly freedAt: number | undefined;
  readonly fence: bigint;
  /** The longest life that its key was given at once. */
  readonly ttlMs: number;
}

interface Draft {
  readonly ask: AskEvent;
  told?: ToldEvent;
  enter?: EnterEvent;
  exit?: ExitEvent;
  letGo?: LetGoEvent;
  until: number;
  ttlMs: number;
  diedAt?: number;
}

/** All asks of a history in order, and what does not fit together in it. */
export function readAsks(events: readonly HistoryEvent[]): {
  readonly asks: readonly Ask[];
  readonly malformed: readonly Violation[];
} {
  const drafts = new Map<string, Draft>();
  const malformed: Violation[] = [];
  for (const event of events) {
    if (event.kind === 'ask') {
      if (drafts.has(event.id)) malformed.push(misfit(event.at, `${event.id} was asked twice`));
      drafts.set(event.id, { ask: event, until: -Infinity, ttlMs: 0 });
    } else if (event.kind === 'died') {
      for (const draft of drafts.values()) {
        if (draft.ask.process === event.process) draft.diedAt ??= event.at;
      }
    } else if (isOfAsk(event)) {
      const problem = place(drafts.get(event.id), event);
      if (problem) malformed.push(misfit(event.at, `${event.kind} of ${event.id}: ${problem}`));
    }
  }
  return { asks: [...drafts.values()].map(finished), malformed };
}

type OfAsk = Extract<HistoryEvent, { kind: 'told' | 'enter' | 'proven' | 'exit' | 'let-go' }>;

function isOfAsk(event: HistoryEvent): event is OfAsk {
  return ['told', 'enter', 'proven', 'exit', 'let-go'].includes(event.kind);
}

/** Files the event; what is wrong with it, if something is. */
function place(draft: Draft | undefined, event: OfAsk): string | undefined {
  if (!draft) return 'it was never asked';
  if (draft.diedAt !== undefined) return 'its process was dead';
  if (event.kind === 'told' || event.kind === 'enter') {
    if (draft.told ?? draft.enter) return 'it has its answer already';
    if (event.kind === 'told') draft.told = event;
    else {
      draft.enter = event;
      learn(draft, event);
    }
    return undefined;
  }
  if (!draft.enter) return 'it has not entered';
  if (event.kind === 'let-go') {
    if (draft.exit?.why !== 'lost' || draft.letGo) return 'it had nothing to let go of';
    draft.letGo = event;
    return undefined;
  }
  if (draft.exit) return 'it has left already';
  if (event.kind === 'exit') draft.exit = event;
  else learn(draft, event);
  return undefined;
}

function learn(draft: Draft, { until, ttlMs }: { until: number; ttlMs: number }): void {
  draft.until = Math.max(draft.until, until);
  draft.ttlMs = Math.max(draft.ttlMs, ttlMs);
}

function finished({ ask, told, enter, exit, letGo, until, ttlMs, diedAt }: Draft): Ask {
  const leftAt = exit?.at ?? diedAt;
  const hold = enter && {
    id: ask.id,
    name: ask.name,
    askedAt: ask.at,
    enteredAt: enter.at,
    provenUntil: Math.min(until, leftAt ?? Infinity),
    leftAt,
    lost: exit?.why === 'lost',
    freedAt: exit?.why === 'released' ? exit.at : letGo?.at,
    fence: enter.fence,
    ttlMs,
  };
  return { ask, told, hold, diedAt };
}

function misfit(at: number, what: string): Violation {
  return { rule: 'malformed', at, what };
}
