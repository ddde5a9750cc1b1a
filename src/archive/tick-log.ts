import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import {
  Database,
  newestPage,
  type PagePart,
  type RowPage,
  serverTime,
  type TickRow,
} from '../database/index.js';
import { type Tick, type TickReport } from '../lock/index.js';
import { Upkeep, type UpkeepStep } from '../upkeep/index.js';

const dayMs = 86_400_000;
// Several replicas skip each tick, so skips are most of the log and tell little after a day.
const keepSkippedMs = dayMs;
const keepMs = 90 * dayMs;
const FORGET_LIMIT = 1_000;

/**
 * What became of ticks, for people: kept for 90 days, skips for one. It decides nothing (the marks
 * do), so it is written without a guard. All methods throw DatabaseUnavailableError.
 */
@Injectable()
export class TickLog implements OnModuleInit {
  private readonly replica: string;

  constructor(
    private readonly database: Database,
    @Inject(APP_CONFIG) { instanceId }: AppConfig,
    private readonly upkeep: Upkeep,
  ) {
    this.replica = instanceId;
  }

  onModuleInit(): void {
    this.upkeep.add({ name: 'ticks', removes: 'old ticks', step: () => this.forget() });
  }

  /** A run begins. If its process dies, this is all that is ever heard of it. */
  async begin({ job, scheduledAt }: Tick, fence: bigint): Promise<void> {
    await this.database.kysely
      .insertInto('ticks')
      .values({
        id: idOf(job, fence),
        job,
        scheduled_at: scheduledAt && scheduledAt.getTime(),
        outcome: 'running',
        replica: this.replica,
        fence,
        started_at: serverTime(this.database),
        expires_at: this.fromNow(keepMs),
      })
      .execute();
  }

  /** The work of a run is done, while its lock is still held: nobody sees it as interrupted. */
  async ran(job: string, fence: bigint, detail: string): Promise<void> {
    await this.database.kysely
      .updateTable('ticks')
      .set({ outcome: 'ran', detail })
      .where('id', '=', idOf(job, fence))
      .execute();
  }

  /** How a run ended. */
  async end(report: TickReport): Promise<void> {
    const { job, scheduledAt, outcome, fence, startedAt, durationMs } = report;
    const kept = outcome.startsWith('skipped-') ? keepSkippedMs : keepMs;
    const ended = {
      outcome,
      duration_ms: Math.round(durationMs),
      expires_at: this.fromNow(kept),
      ...detailOf(report),
    };
    await this.database.kysely
      .insertInto('ticks')
      .values({
        id: fence === undefined ? randomUUID() : idOf(job, fence),
        job,
        scheduled_at: scheduledAt && scheduledAt.getTime(),
        replica: this.replica,
        fence: fence ?? null,
        started_at: startedAt.getTime(),
        ...ended,
      })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(ended))
      .execute();
  }

  /** Up to `limit` ticks of a job. @throws InvalidCursorError */
  list(job: string, part: PagePart): Promise<RowPage<TickRow>> {
    const query = this.database.kysely.selectFrom('ticks').selectAll().where('job', '=', job);
    return newestPage(query, 'started_at', part);
  }

  /** How many runs of a job, of all replicas, have ended how in the last 24 hours. */
  async counts(job: string): Promise<Readonly<Record<string, number>>> {
    const rows = await this.database.kysely
      .selectFrom('ticks')
      .select(['outcome', (count) => count.fn.countAll<bigint>().as('count')])
      .where('job', '=', job)
      .where('started_at', '>=', this.fromNow(-dayMs))
      .where('outcome', '!=', 'running')
      .groupBy('outcome')
      .execute();
    return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, Number(count)]));
  }

  /** The outcome of one run as it is now. */
  async outcome(id: string): Promise<string | undefined> {
    const row = await this.database.kysely
      .selectFrom('ticks')
      .select('outcome')
      .where('id', '=', id)
      .executeTakeFirst();
    return row?.outcome;
  }

  /** Removes ticks that were kept long enough, up to a thousand; `more` where others may be left. */
  async forget(): Promise<UpkeepStep> {
    const { numDeletedRows } = await this.database.kysely
      .deleteFrom('ticks')
      .where('id', 'in', (ticks) =>
        ticks
          .selectFrom('ticks')
          .select('id')
          .where('expires_at', '<=', serverTime(this.database))
          .orderBy('expires_at')
          .limit(FORGET_LIMIT),
      )
      .executeTakeFirst();
    const removed = Number(numDeletedRows);
    return { removed, more: removed === FORGET_LIMIT };
  }

  private fromNow(ms: number) {
    return sql<bigint>`${serverTime(this.database)} + ${ms}`;
  }
}

function idOf(job: string, fence: bigint): string {
  return `${job}.${fence}`;
}

/** For people; a run that went well has told its own. */
function detailOf(report: TickReport): { detail?: string } {
  switch (report.outcome) {
    case 'failed':
    case 'skipped-unavailable':
      return { detail: String(report.error).replaceAll('\0', '') };
    case 'clock-fault':
      return { detail: `${Math.round(report.aheadMs)} ms ahead of the lock store's time` };
    default:
      return {};
  }
}
