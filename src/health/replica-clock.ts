import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Database } from '../database/index.js';
import { LockHealth } from '../lock/index.js';

/** From here on a difference is told, in ms: what NTP keeps is far below. */
const MAX_DIFFERENCE_MS = 3_000;
const CHECK_EVERY_MS = 60_000;

/** A clock that this replica's is compared with. */
type Reference = 'the lock store' | 'the database';

/**
 * Compares this replica's clock with the lock store's and the database's, each minute and whenever the
 * readiness is looked at. What must be right under a wrong clock does not use it; a list shows its times all
 * the same, and a scheduled job fires by it.
 */
@Injectable()
export class ReplicaClock implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(ReplicaClock.name);
  private readonly aheadOf = new Map<Reference, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly locks: LockHealth,
    private readonly database: Database,
  ) {}

  /** How far it is ahead of a reference (behind, when negative), in ms; null where it is right, or not known. */
  get aheadMs(): number | null {
    for (const ms of this.aheadOf.values()) if (Math.abs(ms) > MAX_DIFFERENCE_MS) return ms;
    return null;
  }

  onApplicationBootstrap(): void {
    void this.check();
    this.timer = setInterval(() => void this.check(), CHECK_EVERY_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  /** Has the lock store probed. @throws what LockHealth.probe throws */
  async probeLocks(): Promise<void> {
    await this.compare('the lock store', async () => (await this.locks.probe()).storeTimeMs);
  }

  /** Has the database asked. @throws DatabaseUnavailableError */
  async pingDatabase(): Promise<void> {
    await this.compare('the database', () => this.database.ping());
  }

  /** Whoever gives no answer is not ready, which the readiness tells. */
  private async check(): Promise<void> {
    await Promise.allSettled([this.probeLocks(), this.pingDatabase()]);
  }

  private async compare(reference: Reference, ask: () => Promise<number>): Promise<void> {
    const askedMs = Date.now();
    const theirsMs = await ask();
    // Theirs is from between question and answer: only what is beyond is a difference.
    const ms = askedMs > theirsMs ? askedMs - theirsMs : Math.min(0, Date.now() - theirsMs);
    const knownMs = this.aheadOf.get(reference) ?? 0;
    this.aheadOf.set(reference, ms);
    const wasOff = Math.abs(knownMs) > MAX_DIFFERENCE_MS;
    const isOff = Math.abs(ms) > MAX_DIFFERENCE_MS;
    if (isOff && (!wasOff || Math.abs(ms - knownMs) > MAX_DIFFERENCE_MS)) {
      this.logger.warn(
        `The clock of this replica is ${inSeconds(ms)} that of ${reference}. Have NTP set it (or that server's).`,
      );
    } else if (wasOff && !isOff) {
      this.logger.log(`The clock of this replica agrees with that of ${reference} again.`);
    }
  }
}

function inSeconds(ms: number): string {
  return `${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms > 0 ? 'ahead of' : 'behind'}`;
}
