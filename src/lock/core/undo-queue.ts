import type { Attempt } from './attempt.js';
import type { CancelTimer, Clock } from './clock.js';
import { DueTimes, roundedDown } from './due-times.js';
import { MAX_IN_FLIGHT } from './in-flight-limit.js';

const FIRST_PAUSE_MS = 25;
/** Pauses double up to this part of the TTL, or to a second where that is more. */
const MAX_PAUSE_PART = 1 / 10;
const MAX_SHORT_PAUSE_MS = 1_000;

/** Attempts to undo at once; beyond it those that have been undone for longest are left to their TTL. */
const MAX_UNDOS = 100_000;

interface Undo {
  readonly attempt: Attempt;
  /** On the monotonic clock: a step of the other one must not end it. */
  untilMs: number;
  pauseMs: number;
  isAsking: boolean;
  /** The store has answered an earlier try while this one was asked about. */
  isToRepeat: boolean;
  /** Not asked about since the last `hurry`, or an answer to its try may come yet. */
  isOpen: boolean;
}

/**
 * Undoes what abandoned attempts have left or may leave yet: at once, when the store answers a try that was
 * given up, and again and again until nothing can arrive any more or the time is over. Pauses grow with the
 * TTL, and end on a grid, so that the attempts of one outage share commands. One timer, none when nothing is
 * to be undone.
 */
export class UndoQueue {
  private readonly undos = new Map<Attempt, Undo>();
  private readonly due = new DueTimes<Undo>();
  private asking = 0;
  private open = 0;
  private cancelTimer: CancelTimer | undefined;
  private timerAtMs = Infinity;

  constructor(
    private readonly clock: Clock,
    /** Called when it becomes quiet. */
    private readonly onQuiet: () => void,
  ) {}

  /** Everything has been looked at since the last `hurry`, and no answer can be waited for. */
  get isQuiet(): boolean {
    return this.open === 0;
  }

  /** `untilMs`: on the monotonic clock. Costs nothing where the attempt has left nothing. */
  add(attempt: Attempt, untilMs: number): void {
    if (!attempt.mayLeaveSomething) return;
    const known = this.undos.get(attempt);
    if (known) {
      known.untilMs = Math.max(known.untilMs, untilMs);
      return;
    }
    const [oldest] = this.undos.size >= MAX_UNDOS ? this.undos.values() : [];
    if (oldest) this.end(oldest);
    const undo: Undo = {
      attempt,
      untilMs,
      pauseMs: FIRST_PAUSE_MS,
      isAsking: false,
      isToRepeat: false,
      isOpen: true,
    };
    this.open += 1;
    this.undos.set(attempt, undo);
    attempt.onAnswered = () => this.answered(undo);
    if (this.asking < MAX_IN_FLIGHT) void this.ask(undo);
    else this.due.set(undo, this.clock.now().monoMs);
  }

  /** Looks at everything now: the process is about to end. */
  hurry(): void {
    const { monoMs } = this.clock.now();
    for (const undo of this.undos.values()) {
      if (!undo.isOpen) this.open += 1;
      undo.isOpen = true;
      if (undo.isAsking) undo.isToRepeat = true;
      else this.due.set(undo, monoMs);
    }
    this.pass();
  }

  /** The store has answered a try that was given up. */
  private answered(undo: Undo): void {
    if (undo.isAsking) undo.isToRepeat = true;
    else if (!undo.attempt.mayLeaveSomething) this.end(undo);
    else this.due.set(undo, this.clock.now().monoMs);
    this.arm();
  }

  private pass(): void {
    const { monoMs } = this.clock.now();
    for (const undo of this.due.take(monoMs, MAX_IN_FLIGHT - this.asking)) {
      if (monoMs >= undo.untilMs) this.end(undo);
      else void this.ask(undo);
    }
    this.arm();
  }

  private async ask(undo: Undo): Promise<void> {
    undo.isAsking = true;
    undo.isToRepeat = false;
    this.asking += 1;
    const isClean = await undo.attempt.undoOnce();
    this.asking -= 1;
    undo.isAsking = false;
    if (isClean) this.end(undo);
    else if (this.undos.has(undo.attempt)) this.askAgain(undo);
    this.arm();
  }

  private askAgain(undo: Undo): void {
    const { monoMs } = this.clock.now();
    const { pauseMs, untilMs, attempt } = undo;
    if (undo.isToRepeat) {
      this.due.set(undo, monoMs);
      return;
    }
    if (!attempt.underWay) this.settle(undo);
    const maxMs = Math.max(MAX_SHORT_PAUSE_MS, attempt.terms.ttlMs * MAX_PAUSE_PART);
    undo.pauseMs = Math.min(pauseMs * 2, maxMs);
    this.due.set(undo, Math.min(roundedDown(monoMs + pauseMs, pauseMs / 2), untilMs));
  }

  private end(undo: Undo): void {
    undo.attempt.onAnswered = undefined;
    this.undos.delete(undo.attempt);
    this.due.delete(undo);
    this.settle(undo);
  }

  private settle(undo: Undo): void {
    if (!undo.isOpen) return;
    undo.isOpen = false;
    this.open -= 1;
    if (this.open === 0) this.onQuiet();
  }

  private arm(): void {
    const isFull = this.asking >= MAX_IN_FLIGHT; // the end of one of them arms again
    const dueMs = isFull ? Infinity : (this.due.earliest() ?? Infinity);
    if (dueMs === this.timerAtMs) return;
    this.cancelTimer?.();
    this.timerAtMs = dueMs;
    this.cancelTimer = undefined;
    if (dueMs === Infinity) return;
    this.cancelTimer = this.clock.setTimer(() => {
      this.timerAtMs = Infinity;
      this.pass();
    }, dueMs - this.clock.now().monoMs);
  }
}
