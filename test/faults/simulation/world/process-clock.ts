import type { CancelTimer, Clock, Instant } from '../../../../src/lock/core/clock.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';

/** Where every wall clock stands at the beginning. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** Two clocks of good machines differ by less in rate. The engine's margin is made for 1 %. */
const DRIFT = 0.002;

/** The clock of one simulated process: a little fast or slow, its timers early or late as Node's are. */
export class ProcessClock implements Clock {
  private readonly rate: number;
  private readonly monoAtStartMs: number;
  private wallOffsetMs = 0;
  /** Timers that are set now: 0 in an idle engine. */
  timers = 0;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly random: Random,
    /** Runs a callback in the process, as soon as that can run anything. */
    private readonly inProcess: (run: () => void) => void,
  ) {
    this.rate = random.between(1 - DRIFT, 1 + DRIFT);
    this.monoAtStartMs = random.between(0, 1e9);
  }

  now(): Instant {
    const passedMs = this.scheduler.now * this.rate;
    return {
      monoMs: this.monoAtStartMs + passedMs,
      wallMs: EPOCH_MS + passedMs + this.wallOffsetMs,
    };
  }

  setTimer(run: () => void, delayMs: number): CancelTimer {
    let isSet = true;
    this.timers += 1;
    const end = () => {
      if (isSet) this.timers -= 1;
      isSet = false;
    };
    const realMs = Math.max(1, Math.ceil(delayMs)) / this.rate + this.random.between(-0.9, 2);
    const cancel = this.scheduler.after(realMs, () =>
      this.inProcess(() => {
        if (!isSet) return;
        end();
        run();
      }),
    );
    return () => {
      cancel();
      end();
    };
  }

  /** After all that a paused process has still to read. */
  afterInput(run: () => void): void {
    this.scheduler.after(0, () => this.inProcess(run));
  }

  jitterMs(mostMs: number): number {
    return this.random.between(0, mostMs);
  }

  /** Steps the wall clock alone. */
  stepWall(ms: number): void {
    this.wallOffsetMs += ms;
  }

  /** What `ms` milliseconds of this clock are on the world's. */
  worldMs(ms: number): number {
    return ms / this.rate;
  }
}
