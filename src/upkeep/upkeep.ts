import { setTimeout as delay } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { Drain } from '../http/index.js';
import { type Lease, LockBusyError, lockName, LockService } from '../lock/index.js';

/** What a step of a task has done. */
export interface UpkeepStep {
  /** Rows, passages or whatever the task removes. */
  readonly removed: number;
  /** Whether another step may find more. */
  readonly more: boolean;
}

/** Work in the background that one replica at a time does, whichever comes first. */
export interface UpkeepTask {
  /** Names its lock, `upkeep:<name>`. */
  readonly name: string;
  /** What it removes, for the log. */
  readonly removes: string;
  /** One bounded step under the lease; calls `assertHeld` before what cannot be undone. */
  readonly step: (lease: Lease) => Promise<UpkeepStep>;
}

/** What a task has done on this replica since its start. */
export interface UpkeepCounts {
  readonly name: string;
  readonly runs: number;
  /** Runs that ended with an error. */
  readonly failures: number;
  readonly removed: number;
}

interface Entry {
  readonly task: UpkeepTask;
  counts: Omit<UpkeepCounts, 'name'>;
  timer?: NodeJS.Timeout;
}

// A run takes its share, and leaves the rest to the next one.
const MAX_RUN_MS = 10_000;
const PAUSE_MS = 10;
// The budget above and the limits of a step bound a run.
const oneTry = { waitMs: 0, maxHoldMs: Infinity };

/**
 * Runs each task about every UPKEEP_INTERVAL_MS, over all replicas under its lock: in steps, with pauses,
 * for at most ten seconds and one step. A run that fails is told in the log and is tried again the next
 * time. A replica that shuts down ends after the step that is under way.
 */
@Injectable()
export class Upkeep implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Upkeep.name);
  private readonly entries = new Map<string, Entry>();
  private isStopped = false;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly locks: LockService,
    private readonly drain: Drain,
  ) {}

  /** Adds a task, before the application has started. @throws Error for a name that is taken */
  add(task: UpkeepTask): void {
    if (this.entries.has(task.name)) throw new Error(`There is an upkeep task "${task.name}".`);
    this.entries.set(task.name, { task, counts: { runs: 0, failures: 0, removed: 0 } });
  }

  /** What each task has done here, for metrics. */
  counts(): UpkeepCounts[] {
    return [...this.entries.values()].map(({ task: { name }, counts }) => ({ name, ...counts }));
  }

  onApplicationBootstrap(): void {
    for (const entry of this.entries.values()) this.arm(entry);
  }

  onModuleDestroy(): void {
    this.isStopped = true;
    for (const { timer } of this.entries.values()) clearTimeout(timer);
  }

  /** One run of a task now: null where another replica is at it, else how much it has removed. Never rejects. */
  async run(name: string): Promise<number | null> {
    const entry = this.entries.get(name);
    if (!entry) throw new Error(`There is no upkeep task "${name}".`);
    return this.drain.track(this.runLocked(entry));
  }

  private arm(entry: Entry): void {
    if (this.isStopped) return;
    // Spread, so that replicas that were started together do not meet each time.
    const delayMs = this.config.upkeepIntervalMs * (0.5 + Math.random() / 2);
    entry.timer = setTimeout(() => {
      void this.run(entry.task.name).finally(() => this.arm(entry));
    }, delayMs).unref();
  }

  private async runLocked(entry: Entry): Promise<number | null> {
    const { task } = entry;
    let removed = 0;
    const count = (failures: number) => {
      const { counts } = entry;
      entry.counts = {
        runs: counts.runs + 1,
        failures: counts.failures + failures,
        removed: counts.removed + removed,
      };
      if (removed > 0) this.logger.log(`Removed ${removed} ${task.removes}.`);
    };
    try {
      await this.locks.run(lockName`upkeep:${task.name}`, oneTry, async (lease) => {
        const end = performance.now() + MAX_RUN_MS;
        for (let more = true; more && performance.now() < end; await delay(PAUSE_MS)) {
          if (this.drain.isLeaving) return;
          const step = await task.step(lease);
          removed += step.removed;
          ({ more } = step);
        }
      });
      count(0);
      return removed;
    } catch (error) {
      if (error instanceof LockBusyError) return null;
      count(1);
      this.logger.warn(
        `Old ${task.removes} stay until the next run of upkeep:${task.name}: ${String(error)}`,
      );
      return removed;
    }
  }
}
