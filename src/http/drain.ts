import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/index.js';

/**
 * Lets work end before the service does. Shutdown begins here, before any other part ends: for
 * SHUTDOWN_DELAY_MS `isLeaving` is all that changes, so that a balancer looks elsewhere before anybody
 * is refused; then `signal` aborts, and all that is tracked may go on for SHUTDOWN_GRACE_MS. What is
 * left after that is aborted by the lock module.
 */
@Injectable()
export class Drain {
  private readonly logger = new Logger(Drain.name);
  private readonly shutdown = new AbortController();
  private readonly work = new Set<Promise<unknown>>();
  private leaving = false;

  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /** Whether the replica should get no more requests. */
  get isLeaving(): boolean {
    return this.leaving;
  }

  /** Aborts when requests are refused from now on: for streams that would never end by themselves. */
  get signal(): AbortSignal {
    return this.shutdown.signal;
  }

  /** Makes the shutdown wait for `work` (within the grace); gives `work` back. Its outcome stays the caller's matter. */
  track<T>(work: Promise<T>): Promise<T> {
    const end = () => void this.work.delete(settled);
    const settled: Promise<void> = work.then(end, end);
    this.work.add(settled);
    return work;
  }

  /** Begins the shutdown; resolves when nothing is under way any more, or at the end of the grace. */
  async run(): Promise<void> {
    const { shutdownDelayMs, shutdownGraceMs } = this.config.http;
    this.leaving = true;
    if (shutdownDelayMs > 0) await delay(shutdownDelayMs);
    this.shutdown.abort();
    const deadline = performance.now() + shutdownGraceMs;
    while (this.work.size > 0 && performance.now() < deadline) {
      await settledWithin(this.work, deadline - performance.now());
    }
    if (this.work.size > 0) {
      this.logger.warn(
        `${this.work.size} requests or jobs did not end within ${shutdownGraceMs} ms and are aborted. Raise SHUTDOWN_GRACE_MS if they should have.`,
      );
    }
  }
}

async function settledWithin(work: Iterable<Promise<unknown>>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(work), late]);
  clearTimeout(timer);
}
