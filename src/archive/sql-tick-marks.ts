import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, serverTime } from '../database/index.js';
import { type ClaimReply, type TickClaim, type TickMarks } from '../lock/index.js';

/** The marks of scheduled jobs, in the service's database: they live as long as what the jobs change. */
@Injectable()
export class SqlTickMarks implements TickMarks {
  constructor(private readonly database: Database) {}

  /** PostgreSQL's clock; on SQLite the machine's, which all who share the file have. @throws DatabaseUnavailableError */
  async nowMs(): Promise<number> {
    const query = sql<{ now: bigint }>`select ${serverTime(this.database)} as now`;
    const { rows } = await query.execute(this.database.kysely);
    return Number(rows[0]?.now);
  }

  /** One statement, and a look at the row where it was refused. @throws DatabaseUnavailableError */
  async claim({ job, tickMs, fence, done }: TickClaim): Promise<ClaimReply> {
    const tick = BigInt(tickMs);
    const claimed = await this.database.kysely
      .insertInto('tick_marks')
      .values({ job, fence, tick_ms: done ? tick : null })
      .onConflict((conflict) =>
        conflict
          .column('job')
          .doUpdateSet(done ? { fence, tick_ms: tick } : { fence })
          .where('tick_marks.fence', '<=', fence)
          .where((is) =>
            is.or([is('tick_marks.tick_ms', 'is', null), is('tick_marks.tick_ms', '<', tick)]),
          ),
      )
      .returning('job')
      .executeTakeFirst();
    if (claimed) return 'claimed';
    // Marks and fences only rise: what refused the claim a moment ago would refuse it now.
    const mark = await this.database.kysely
      .selectFrom('tick_marks')
      .selectAll()
      .where('job', '=', job)
      .executeTakeFirstOrThrow();
    if (mark.tick_ms === tick && mark.fence === fence) return 'claimed';
    return fence < mark.fence ? 'stale' : 'done';
  }
}
