import {
  type BeforeApplicationShutdown,
  Logger,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { MAX_TIMER_MS } from '../core/clock.js';
import { LockManager, type LockManagerOptions } from '../core/lock-manager.js';
import { LockOptionsError } from '../core/lock.errors.js';

/** How long holders may take to finish when the application shuts down, in ms. */
const DEFAULT_SHUTDOWN_GRACE_MS = 30_000;

const OVERLONG_REPORT_MS = 60_000;

/** What a LockService is made of. */
export interface LockServiceOptions extends LockManagerOptions {
  /**
   * How long `beforeApplicationShutdown` waits for holders, in ms; then their leases are lost with
   * SHUTDOWN. 0 to 2^31-1.
   * @default 30000
   */
  readonly shutdownGraceMs?: number | undefined;
}

/**
 * The lock engine as a provider: checks its store at module init, and drains at shutdown while the
 * HTTP server still answers. LockModule makes it; other code injects it.
 */
export class LockService
  extends LockManager
  implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly shutdownGraceMs: number;

  /** @throws LockOptionsError naming the option, its value and its bounds */
  constructor({ shutdownGraceMs = DEFAULT_SHUTDOWN_GRACE_MS, ...options }: LockServiceOptions) {
    super(options);
    if (
      !Number.isInteger(shutdownGraceMs) ||
      shutdownGraceMs < 0 ||
      shutdownGraceMs > MAX_TIMER_MS
    ) {
      throw new LockOptionsError(
        `shutdownGraceMs is ${String(shutdownGraceMs)}; it must be a whole number of milliseconds from 0 to ${MAX_TIMER_MS}.`,
      );
    }
    this.shutdownGraceMs = shutdownGraceMs;
    this.reportOverlong();
  }

  /** At most once a minute: a key like that stays in everybody's way for long. */
  private reportOverlong(): void {
    const logger = new Logger(LockService.name);
    let reportedAt = -Infinity;
    this.events.on('overlong', ({ name, remainingMs, ttlMs }) => {
      if (performance.now() - reportedAt < OVERLONG_REPORT_MS) return;
      reportedAt = performance.now();
      const life = remainingMs === undefined ? 'for ever' : `for ${Math.round(remainingMs)} ms`;
      logger.warn(
        `The lock "${name}" lives ${life}, longer than the TTL of ${ttlMs} ms that it was asked for with: the store's clock was set back, a foreign client took it, or callers differ in their TTL. If its holder is dead, revoke it.`,
      );
    });
  }

  /** The application does not start on a store that cannot be used. @throws with thing, cause and fix */
  async onModuleInit(): Promise<void> {
    await this.start();
  }

  /** New locks are refused from here on; holders have `shutdownGraceMs` to finish. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.shutdown(this.shutdownGraceMs);
  }

  /** After the last request: ends what the store has opened. Clients that were handed in stay open. */
  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
