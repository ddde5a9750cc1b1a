import { Logger } from '@nestjs/common';
import type { LockManager } from '../core/lock-manager.js';
import { observe } from '../core/lock-events.js';
import { LockOptionsError } from '../core/lock.errors.js';
import type { TickMarks } from '../ticks/tick-marks.js';
import type { TickJobOptions } from '../ticks/tick-options.js';
import type { TickReport } from '../ticks/tick-report.js';
import { TickRunner, type TickWork } from '../ticks/tick-runner.js';
import { takeFiredTick } from './armed-job.js';

interface Job {
  readonly runner: TickRunner;
  readonly work: TickWork<unknown>;
}

/** All scheduled jobs of the application, by name. Logs what becomes of their ticks. */
export class ScheduledJobs {
  private readonly logger = new Logger(ScheduledJobs.name);
  private readonly jobs = new Map<string, Job>();
  private readonly listeners = new Set<(report: TickReport) => void>();

  constructor(
    private readonly locks: LockManager,
    private readonly marks: TickMarks,
  ) {}

  /**
   * Adds a job; `@OncePerTick` does it for its method at module init.
   * @throws LockOptionsError for wrong options, and for a name that is taken: its ticks would be
   * taken for those of the other job
   */
  define(options: TickJobOptions, work: TickWork<unknown>): TickRunner {
    const { name } = options;
    const runner = new TickRunner({ locks: this.locks, marks: this.marks, job: options });
    if (this.jobs.has(name)) {
      throw new LockOptionsError(
        `Two scheduled jobs are named "${name}". Give each a name of its own; a subclass that is provided beside its base class has the base's jobs too.`,
      );
    }
    runner.onReport((report) => {
      this.log(report);
      for (const listener of this.listeners) observe(name, () => listener(report));
    });
    this.jobs.set(name, { runner, work });
    return runner;
  }

  /** The runner of a job, for its counts. @throws LockOptionsError for an unknown name */
  runner(name: string): TickRunner {
    return this.job(name).runner;
  }

  /** Calls `listener` after every run of every job. Returns what ends it. */
  onReport(listener: (report: TickReport) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * What the cron job of this name calls: runs the instant that its timer was armed for. The outcome is
   * reported and logged.
   * @throws LockOptionsError, which is logged as an error too, when anything else calls it: a timer
   * that is not followed would run the job on every replica
   */
  async run(name: string): Promise<void> {
    const { runner, work } = this.job(name);
    const fired = takeFiredTick(name);
    if (!fired) {
      const refusal = notItsTimer(name);
      this.logger.error(refusal.message);
      throw refusal;
    }
    await runner.run(fired.scheduledAt, work, fired);
  }

  /**
   * Runs the job now, whatever its schedule says, and leaves its mark alone. Gives the work's result.
   * @throws what `TickRunner.runByHand` throws: LockBusyError while the job runs
   */
  async runByHand(name: string): Promise<unknown> {
    const { runner, work } = this.job(name);
    return runner.runByHand(work);
  }

  private job(name: string): Job {
    const job = this.jobs.get(name);
    if (job) return job;
    const known = [...this.jobs.keys()].map((each) => `"${each}"`).join(', ');
    throw new LockOptionsError(
      `There is no scheduled job "${name}". ${known ? `There are ${known}.` : 'There are none, or not yet: methods with @OncePerTick are found at module init.'}`,
    );
  }

  private log(report: TickReport): void {
    if (!report.scheduledAt) return; // whoever ran it by hand is told
    const tick = `Job "${report.job}", ${report.scheduledAt.toISOString()}`;
    switch (report.outcome) {
      case 'failed': {
        const { error } = report;
        return this.logger.error(`${tick}: failed`, error instanceof Error ? error.stack : error);
      }
      case 'clock-fault':
        return this.logger.error(
          `${tick}: refused, ${Math.round(report.aheadMs)} ms ahead of the lock store's time. The clock of this machine, or the store's, is wrong: set it.`,
        );
      case 'skipped-unavailable':
        return this.logger.warn(`${tick}: skipped, no answer: ${String(report.error)}`);
      default:
        return this.logger.debug(
          `${tick}: ${report.outcome} (${Math.round(report.durationMs)} ms)`,
        );
    }
  }
}

function notItsTimer(name: string): LockOptionsError {
  return new LockOptionsError(
    `Job "${name}" was called, but not by the cron job "${name}" of the SchedulerRegistry, whose instants it runs once over all replicas: so it has not run. Stop the timer that called it (another cron job, one that was deleted or has fired before the bootstrap, an interval); a caller who wants it to run now calls ScheduledJobs.runByHand("${name}").`,
  );
}
