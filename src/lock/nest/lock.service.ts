import {
  type BeforeApplicationShutdown,
  Logger,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { MAX_TIMER_MS } from '../core/clock.js';
import { LockManager, type LockManagerOptions } from '../core/lock-manager.js';
import type { LockStore } from '../core/lock-store.js';
import { LockOptionsError, LockUnavailableError } from '../core/lock.errors.js';

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
  private readonly logger = new Logger('Locks');
  private readonly lockStore: LockStore;
  private readonly shutdownGraceMs: number;
  private stopChecking: (() => void) | undefined;

  /** @throws LockOptionsError naming the option, its value and its bounds */
  constructor({ shutdownGraceMs = DEFAULT_SHUTDOWN_GRACE_MS, ...options }: LockServiceOptions) {
    super(options);
    this.lockStore = options.store;
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

  /**
   * The application does not start on a store that cannot be used; what may break locks is logged. A
   * store that does not answer yet is checked when it does. @throws with thing, cause and fix
   */
  async onModuleInit(): Promise<void> {
    await this.start();
    try {
      await this.warn();
    } catch (error) {
      if (!(error instanceof LockUnavailableError)) throw error;
      this.logger.warn(`The lock store could not be checked yet. ${error.message}`);
      this.stopChecking = this.lockStore.onReconnect(() => void this.checkLate());
    }
  }

  /** New locks are refused from here on; holders have `shutdownGraceMs` to finish. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.shutdown(this.shutdownGraceMs);
  }

  /** After the last request: ends what the store has opened. Clients that were handed in stay open. */
  async onApplicationShutdown(): Promise<void> {
    this.stopChecking?.();
    await this.close();
  }

  private async warn(): Promise<void> {
    for (const warning of await this.check()) this.logger.warn(warning);
  }

  private async checkLate(): Promise<void> {
    try {
      await this.warn();
    } catch (error) {
      if (error instanceof LockUnavailableError) return; // the next connection is another occasion
      this.logger.error((error as Error).message);
    }
    this.stopChecking?.();
  }
}
