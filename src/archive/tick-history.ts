import { ApiProperty } from '@nestjs/swagger';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type PagePart, type TickRow } from '../database/index.js';
import { Drain } from '../http/index.js';
import { LockError, LockService, type TickReport } from '../lock/index.js';
import { ScheduledJobs } from '../lock/schedule/index.js';
import { ARCHIVE_JOB } from './archive-job.js';
import { TickLog } from './tick-log.js';

/** One tick of the archiver, or one run by hand, as clients see it. Times are ISO 8601. */
export class TickView {
  /** The scheduled instant; null for a run by hand. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly scheduledAt: string | null;
  /** `interrupted`: its process died, or lost the lock and could not say so. */
  @ApiProperty()
  readonly outcome: string;
  @ApiProperty()
  readonly replica: string;
  /** In decimal; null where the lock was not taken. */
  @ApiProperty({ type: String, nullable: true })
  readonly fence: string | null;
  @ApiProperty({ format: 'date-time' })
  readonly startedAt: string;
  /** null while it runs, and for one that was interrupted. */
  @ApiProperty({ type: Number, nullable: true })
  readonly durationMs: number | null;
  @ApiProperty({ type: String, nullable: true })
  readonly detail: string | null;
}

/** Part of the history. */
export class TickPage {
  @ApiProperty({ type: [TickView] })
  readonly items: readonly TickView[];
  @ApiProperty({ type: String, nullable: true })
  readonly nextCursor: string | null;
  /** How many runs of the last 24 hours have ended how, over all replicas. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' } })
  readonly counts: Readonly<Record<string, number>>;
}

/** Records how the archiver's ticks end, and tells it. */
@Injectable()
export class TickHistory implements OnModuleInit {
  private readonly logger = new Logger(TickHistory.name);

  constructor(
    private readonly jobs: ScheduledJobs,
    private readonly log: TickLog,
    private readonly locks: LockService,
    private readonly drain: Drain,
  ) {}

  onModuleInit(): void {
    this.jobs.onReport((report) => void this.drain.track(this.record(report)));
  }

  /** Newest first. Two queries, and one look at the lock where a run has not ended. @throws InvalidCursorError */
  async list(part: PagePart): Promise<TickPage> {
    const { rows, nextCursor } = await this.log.list(ARCHIVE_JOB, part);
    const holder = rows.some(({ outcome }) => outcome === 'running') ? await this.holder() : null;
    const items = rows.map(async (row) => toView(row, await this.outcomeOf(row, holder)));
    const counts = await this.log.counts(ARCHIVE_JOB);
    return { items: await Promise.all(items), nextCursor, counts };
  }

  private async outcomeOf(row: TickRow, holder: bigint | 'unknown' | null): Promise<string> {
    if (row.outcome !== 'running' || holder === 'unknown' || holder === row.fence) {
      return row.outcome;
    }
    // It may have ended between the two looks.
    const now = await this.log.outcome(row.id);
    return now === undefined || now === 'running' ? 'interrupted' : now;
  }

  /** The fence under which the job runs now. */
  private async holder(): Promise<bigint | 'unknown' | null> {
    try {
      const state = await this.locks.inspect(this.jobs.runner(ARCHIVE_JOB).job.lockName);
      return state?.fence ?? null;
    } catch (error) {
      if (!(error instanceof LockError)) throw error;
      this.logger.debug(`The archiver's lock cannot be looked at: ${error.message}`);
      return 'unknown';
    }
  }

  private async record(report: TickReport): Promise<void> {
    try {
      await this.log.end(report);
    } catch (error) {
      this.logger.warn(
        `The end of a tick (${report.outcome}) could not be recorded: ${String(error)}`,
      );
    }
  }
}

function toView(row: TickRow, outcome: string): TickView {
  return {
    scheduledAt: row.scheduled_at === null ? null : iso(row.scheduled_at),
    outcome,
    replica: row.replica,
    fence: row.fence === null ? null : String(row.fence),
    startedAt: iso(row.started_at),
    durationMs: row.duration_ms === null ? null : Number(row.duration_ms),
    detail: row.detail,
  };
}

function iso(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}
