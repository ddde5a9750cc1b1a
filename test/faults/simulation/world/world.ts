import type { HistoryEvent } from '../../checker/history.js';
import { Random } from './random.js';
import { Scheduler } from './scheduler.js';

/** Is told what happens below the history's level; the text is only made if somebody listens. */
export type Trace = (at: number, who: string, what: string) => void;

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;

/** What all parts of one simulation share. */
export class World {
  readonly scheduler = new Scheduler();
  readonly history: HistoryEvent[] = [];

  constructor(
    readonly seed: number,
    private readonly traced: Trace | undefined,
  ) {}

  /** A stream of numbers of its own, so that one part's draws do not shift another's. */
  random(stream: string): Random {
    return new Random(this.seed, stream);
  }

  note(event: WithoutTime<HistoryEvent>): void {
    const noted = { ...event, at: this.scheduler.now } as HistoryEvent;
    this.history.push(noted);
    if (this.traced) this.trace('history', describe(noted));
  }

  trace(who: string, what: string | (() => string)): void {
    this.traced?.(this.scheduler.now, who, typeof what === 'string' ? what : what());
  }
}

function describe({ kind, at: _at, ...rest }: HistoryEvent): string {
  const parts = Object.entries(rest).map(([key, value]) => `${key}=${format(value)}`);
  return `${kind.toUpperCase()} ${parts.join(' ')}`;
}

function format(value: unknown): string {
  return typeof value === 'number' ? value.toFixed(2) : String(value);
}
