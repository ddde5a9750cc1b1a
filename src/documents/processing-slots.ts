import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/index.js';

// How much the newest run counts in the mean.
const WEIGHT = 0.2;

/**
 * How many documents this process works on at once, and how long it takes for one. More at once would
 * not be done sooner: they would share the same cores, and hold their locks for longer.
 */
@Injectable()
export class ProcessingSlots {
  /** How long a run takes, in ms: the newer, the more it counts. A second while nothing is known. */
  meanMs = 1_000;
  private free: number;

  constructor(@Inject(APP_CONFIG) { documents }: AppConfig) {
    this.free = documents.concurrency;
  }

  /** Takes a slot, if one is free: call what comes back when it is not needed any more. */
  take(): (() => void) | null {
    if (this.free === 0) return null;
    this.free -= 1;
    let isTaken = true;
    return () => {
      if (isTaken) this.free += 1;
      isTaken = false;
    };
  }

  /** Measures a run. */
  async measure<T>(run: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await run();
    } finally {
      this.meanMs += WEIGHT * (performance.now() - startedAt - this.meanMs);
    }
  }
}
