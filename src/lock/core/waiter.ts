import { type CancelTimer, type Clock, type Instant, onAbort } from './clock.js';
import type { BusyReply, GrantReply, Place } from './lock-store.js';
import type { LockUnavailableError } from './lock.errors.js';
import { TicketEstimate } from './ticket-estimate.js';

/** What the store last said of a lock that others wait for. */
export interface LastAnswer {
  readonly remainingMs?: number | undefined;
  readonly heldForMs?: number | undefined;
  readonly queued?: number | undefined;
  /** Until then nothing is granted to anybody. */
  readonly closedUntil?: Instant | undefined;
  readonly trouble?: LockUnavailableError | undefined;
}

/** The waiters of this process for one lock, and what they know of it together. */
export class WaitersOfLock {
  first: Waiter | undefined;
  last: Waiter | undefined;
  count = 0;
  lastAnswer: LastAnswer = {};
  /** Where the process stands in the store's queue, as it last said. */
  ticket: string | undefined;
  /** The process may stand in the store's queue, ticket or not. */
  mayStand = false;
  /** Waiters whose try is under way. */
  asking = 0;
  /** For how long the first waiter need not ask: a grant has moved the process's place to it. */
  restMs: number | undefined;
  readonly estimate = new TicketEstimate();

  constructor(
    /** So many may ask at once. */
    public width: number,
  ) {}

  add(waiter: Waiter): void {
    waiter.previous = this.last;
    if (this.last) this.last.next = waiter;
    this.first ??= waiter;
    this.last = waiter;
    this.count += 1;
  }

  remove(waiter: Waiter): void {
    if (waiter.previous) waiter.previous.next = waiter.next;
    else this.first = waiter.next;
    if (waiter.next) waiter.next.previous = waiter.previous;
    else this.last = waiter.previous;
    this.count -= 1;
  }

  wakeAll(): void {
    for (let one = this.first; one; one = one.next) one.wake();
  }

  /** As many as may be granted what they ask for begin to, in order: those at the front that are not at it. */
  wakeFront(): void {
    if (this.asking >= Math.min(this.width, this.count)) return;
    let one = this.first;
    for (let n = 0; one && n < this.width; n += 1) {
      if (!one.isAsking) one.wake();
      one = one.next;
    }
  }
}

/** Somebody who waits for a lock. The first asks the store; those behind only while there is more than one to have. */
export class Waiter {
  previous: Waiter | undefined;
  next: Waiter | undefined;
  isAsking = false;
  private ticket: string | undefined;
  private woken = false;
  private wakeUp: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly all: WaitersOfLock,
    private readonly arrivedAt: Instant,
    private readonly onLeave: () => void,
  ) {}

  get isFirst(): boolean {
    return this.all.first === this;
  }

  /** Whether to ask now: in order, and no more at once than may be granted. */
  get mayAsk(): boolean {
    const { asking, width } = this.all;
    return this.isFirst || (asking < width && this.previous?.isAsking === true);
  }

  /** What was learnt last: also what those behind are told when they give up. */
  get lastAnswer(): LastAnswer {
    return this.all.lastAnswer;
  }

  /** A try of this waiter begins. Returns the place it is sent with. */
  beginTry(process: string): Place {
    this.isAsking = true;
    this.all.asking += 1;
    this.all.mayStand = true;
    this.all.restMs = undefined;
    return { process, ticket: this.all.first?.ownTicket(), nextTicket: this.next?.ownTicket() };
  }

  endTry(): void {
    if (!this.isAsking) return;
    this.isAsking = false;
    this.all.asking -= 1;
  }

  /** The grant has used the process's place up, or moved it to the waiter behind. */
  granted({ nextLookMs, left }: GrantReply, ttlMs: number): void {
    const { all } = this;
    all.ticket = undefined;
    all.mayStand = nextLookMs !== undefined || all.asking > 0;
    if (left !== undefined) all.width = Math.max(1, left);
    else all.lastAnswer = { remainingMs: ttlMs, heldForMs: 0, queued: all.lastAnswer.queued };
    if (this.isFirst && !left && nextLookMs !== undefined) all.restMs = Math.min(nextLookMs, ttlMs);
  }

  /** `sentAt`: when the try was sent. */
  busy({ ticket, newcomerTicket }: BusyReply, sentAt: Instant, answer: LastAnswer): void {
    const { all } = this;
    all.ticket = ticket;
    all.width = 1;
    all.restMs = undefined;
    if (this.isFirst) this.ticket ??= ticket;
    if (newcomerTicket !== undefined) {
      if (ticket !== undefined) all.estimate.given(ticket);
      all.estimate.learn(newcomerTicket, sentAt);
    }
    all.lastAnswer = answer;
    // Those behind may have no time left to wait for that.
    if (answer.closedUntil) for (let one = this.next; one; one = one.next) one.wake();
  }

  /** The try had no answer. `trouble`: where that says something about the store. */
  unanswered(trouble: LockUnavailableError | undefined): void {
    this.all.width = 1;
    if (trouble) this.all.lastAnswer = { trouble };
  }

  /** For how long this waiter need not ask, having just become the first. */
  takeRest(): number | undefined {
    if (!this.isFirst) return undefined;
    const { restMs } = this.all;
    this.all.restMs = undefined;
    return restMs;
  }

  /** Nobody else of this process waits for the lock, and its place in the store has to be given up. */
  get leavesPlace(): boolean {
    return this.all.mayStand && this.all.count === 1 && this.isFirst;
  }

  /** Resolves when woken, after `delayMs`, or when the signal aborts. A wake-up that came earlier counts. */
  pause(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel?.();
        stopListening?.();
        this.wakeUp = undefined;
        this.woken = false;
        resolve();
      };
      let cancel: CancelTimer | undefined;
      let stopListening: (() => void) | undefined;
      if (this.woken || signal?.aborted) return done();
      cancel = this.clock.setTimer(done, delayMs, true);
      this.wakeUp = done;
      if (signal) stopListening = onAbort(signal, done);
    });
  }

  wake(): void {
    this.woken = true;
    this.wakeUp?.();
  }

  /** Gives the place up; the next one becomes the first at once. */
  leave(): void {
    this.endTry();
    const { isFirst } = this;
    this.all.remove(this);
    if (isFirst) this.all.first?.wake();
    if (this.all.width > 1) this.all.wakeFront();
    this.onLeave();
  }

  /** This waiter's own ticket, where it is known or can be estimated; else that of the process. */
  private ownTicket(): string | undefined {
    this.ticket ??= this.all.estimate.of(this.arrivedAt);
    return this.ticket ?? (this.isFirst ? this.all.ticket : undefined);
  }
}
