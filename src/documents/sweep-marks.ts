import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { Database, serverTime } from '../database/index.js';

/** A document that may have left passages behind. */
export interface SweepMark {
  readonly id: string;
  readonly sweepAt: bigint;
}

/**
 * Which documents may have left passages behind: `documents.sweep_at`, the time of the last change that
 * could. All methods throw DatabaseUnavailableError.
 */
@Injectable()
export class SweepMarks {
  constructor(
    private readonly database: Database,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  /** Up to `limit` marks, the oldest first, that have stood for UPKEEP_INTERVAL_MS: until then late writes may arrive. */
  async due(limit: number): Promise<readonly SweepMark[]> {
    const before = sql<bigint>`${serverTime(this.database)} - ${this.config.upkeepIntervalMs}`;
    const rows = await this.database.kysely
      .selectFrom('documents')
      .select(['id', 'sweep_at'])
      .where('sweep_at', '<=', before)
      .orderBy('sweep_at')
      .limit(limit)
      .execute();
    return rows.flatMap(({ id, sweep_at: sweepAt }) => (sweepAt === null ? [] : [{ id, sweepAt }]));
  }

  /**
   * Makes the passages of a run that failed or died left-behind ones, by a newer fence. Only under the
   * document's lock, where no run is under way.
   */
  async supersedeRun(id: string, fence: bigint): Promise<void> {
    await this.database.kysely
      .updateTable('documents')
      .set({ fence })
      .where('id', '=', id)
      .where('fence', '<=', fence)
      .where('deleted', '=', 0n)
      .where('state', 'in', ['processing', 'failed'])
      .execute();
  }

  /** Takes the mark away, unless the document was changed again since. */
  async clear({ id, sweepAt }: SweepMark): Promise<void> {
    await this.database.kysely
      .updateTable('documents')
      .set({ sweep_at: null })
      .where('id', '=', id)
      .where('sweep_at', '=', sweepAt)
      .execute();
  }

  /** Has the mark looked at again after the others. */
  async postpone({ id, sweepAt }: SweepMark): Promise<void> {
    await this.database.kysely
      .updateTable('documents')
      .set({ sweep_at: serverTime(this.database) })
      .where('id', '=', id)
      .where('sweep_at', '=', sweepAt)
      .execute();
  }
}
