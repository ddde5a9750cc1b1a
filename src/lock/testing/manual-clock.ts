import { type CancelTimer, type Clock, type Instant } from '../core/clock.js';

interface ManualTimer {
  readonly atMs: number;
  readonly run: () => void;
}

/**
 * A clock that moves only when told. `advance` fires the timers on its way in order and lets
 * promises settle after each; the wall clock can be stepped apart from the monotonic one.
 */
export class ManualClock implements Clock {
  private monoMs = 1_000_000;
  private wallMs: number;
  private readonly timers = new Set<ManualTimer>();
  private readonly arrived: (() => void)[] = [];

  constructor(wallMs = Date.UTC(2026, 0, 1)) {
    this.wallMs = wallMs;
  }

  /** Timers that are set now: 0 in an idle engine. */
  get timerCount(): number {
    return this.timers.size;
  }

  now(): Instant {
    return { monoMs: this.monoMs, wallMs: this.wallMs };
  }

  setTimer(run: () => void, delayMs: number): CancelTimer {
    const timer = { atMs: this.monoMs + Math.max(0, delayMs), run };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  afterInput(run: () => void): void {
    setImmediate(() => {
      this.readArrived();
      setImmediate(run);
    });
  }

  /** Always the middle, so that a test runs the same way each time. */
  jitterMs(mostMs: number): number {
    return mostMs / 2;
  }

  /** Moves both clocks on by `ms`, firing what is due; promises settle in between. */
  async advance(ms: number): Promise<void> {
    const end = this.monoMs + ms;
    await settle();
    for (let next = this.next(end); next; next = this.next(end)) {
      this.move(Math.max(this.monoMs, next.atMs));
      this.timers.delete(next);
      next.run();
      await settle();
    }
    this.move(end);
    this.readArrived();
    await settle();
  }

  /**
   * Time passes while the event loop is blocked: both clocks move and no timer fires. `arrived` is what
   * arrives meanwhile: it is read by the next `advance`, after the timers that came due.
   */
  block(ms: number, arrived?: () => void): void {
    this.move(this.monoMs + ms);
    if (arrived) this.arrived.push(arrived);
  }

  /** Steps the wall clock alone: an operator's or NTP's doing, or a suspended machine waking up. */
  stepWall(ms: number): void {
    this.wallMs += ms;
  }

  private readArrived(): void {
    for (const read of this.arrived.splice(0)) read();
  }

  private move(monoMs: number): void {
    this.wallMs += monoMs - this.monoMs;
    this.monoMs = monoMs;
  }

  private next(endMs: number): ManualTimer | undefined {
    let first: ManualTimer | undefined;
    for (const timer of this.timers) {
      if (timer.atMs <= endMs && (!first || timer.atMs < first.atMs)) first = timer;
    }
    return first;
  }
}

/** Lets all promise reactions run, also those that take several turns. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
