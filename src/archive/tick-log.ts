import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import {
  Database,
  newestPage,
  type PagePart,
  type RowPage,
  type TickRow,
} from '../database/index.js';
import { type Tick, type TickReport } from '../lock/index.js';

const dayMs = 86_400_000;
// Several replicas skip each tick, so skips are most of the log and tell little after a day.
const keepSkippedMs = dayMs;
const keepMs = 90 * dayMs;

/**
 * What became of ticks, for people: kept for 90 days, skips for one. It decides nothing (the marks
 * do), so it is written without a guard. All methods throw DatabaseUnavailableError.
 */
@Injectable()
export class TickLog {
  private readonly replica: string;

  constructor(
    private readonly database: Database,
    @Inject(APP_CONFIG) { instanceId }: AppConfig,
  ) {
    this.replica = instanceId;
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
        started_at: Date.now(),
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

  /** How a run ended. Throws away what has become old, too. */
  async end(report: TickReport): Promise<void> {
    const { job, scheduledAt, outcome, fence, startedAt, durationMs } = report;
    const ended = { outcome, duration_ms: Math.round(durationMs), ...detailOf(report) };
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
    if (outcome === 'ran') await this.forget(job);
  }

  /** Up to `limit` ticks of a job. @throws InvalidCursorError */
  list(job: string, part: PagePart): Promise<RowPage<TickRow>> {
    const query = this.database.kysely.selectFrom('ticks').selectAll().where('job', '=', job);
    return newestPage(query, 'started_at', part);
  }

  /** How many runs of a job, of all replicas, have ended how since `sinceMs`. */
  async counts(job: string, sinceMs: number): Promise<Readonly<Record<string, number>>> {
    const rows = await this.database.kysely
      .selectFrom('ticks')
      .select(['outcome', (count) => count.fn.countAll<bigint>().as('count')])
      .where('job', '=', job)
      .where('started_at', '>=', BigInt(sinceMs))
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

  private async forget(job: string): Promise<void> {
    const now = Date.now();
    await this.database.kysely
      .deleteFrom('ticks')
      .where('job', '=', job)
      .where((is) =>
        is.or([
          is('started_at', '<', BigInt(now - keepMs)),
          is.and([
            is('started_at', '<', BigInt(now - keepSkippedMs)),
            is('outcome', 'like', 'skipped-%'),
          ]),
        ]),
      )
      .execute();
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
