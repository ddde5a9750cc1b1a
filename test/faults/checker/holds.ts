import type { AskEvent, EnterEvent, ExitEvent, HistoryEvent, ToldEvent } from './history.js';
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
  readonly fence: bigint;
}

interface Draft {
  readonly ask: AskEvent;
  told?: ToldEvent;
  enter?: EnterEvent;
  exit?: ExitEvent;
  until: number;
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
      drafts.set(event.id, { ask: event, until: -Infinity });
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

type OfAsk = Extract<HistoryEvent, { kind: 'told' | 'enter' | 'proven' | 'exit' }>;

function isOfAsk(event: HistoryEvent): event is OfAsk {
  return ['told', 'enter', 'proven', 'exit'].includes(event.kind);
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
      draft.until = event.until;
    }
    return undefined;
  }
  if (!draft.enter) return 'it has not entered';
  if (draft.exit) return 'it has left already';
  if (event.kind === 'exit') draft.exit = event;
  else draft.until = Math.max(draft.until, event.until);
  return undefined;
}

function finished({ ask, told, enter, exit, until, diedAt }: Draft): Ask {
  const leftAt = exit?.at ?? diedAt;
  const hold = enter && {
    id: ask.id,
    name: ask.name,
    askedAt: ask.at,
    enteredAt: enter.at,
    provenUntil: Math.min(until, leftAt ?? Infinity),
    leftAt,
    lost: exit?.why === 'lost',
    fence: enter.fence,
  };
  return { ask, told, hold, diedAt };
}

function misfit(at: number, what: string): Violation {
  return { rule: 'malformed', at, what };
}
