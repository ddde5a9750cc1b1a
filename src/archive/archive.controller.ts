import { Controller, Get, HttpCode, Param, Post, Query, Res, StreamableFile } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import {
  Answers,
  AnswersAs,
  Drain,
  PageQuery,
  Problems,
  RecordId,
  Rules,
  TakesKey,
} from '../http/index.js';
import { Idempotent } from '../idempotency/index.js';
import { ScheduledJobs } from '../lock/schedule/index.js';
import { ArchiveRun } from './archiver.js';
import { ARCHIVE_JOB } from './archive-job.js';
import { ArchiveNotFoundError } from './archives.errors.js';
import { ArchivePage, ArchivesRepository } from './archives.repository.js';
import { TickPage, TickHistory } from './tick-history.js';
import { unpackArchive } from './unpack-archive.js';

const adminOnly = { access: 'admin' } as const;

/** The archives, and the archiver by hand. */
@Controller()
export class ArchiveController {
  constructor(
    private readonly jobs: ScheduledJobs,
    private readonly archives: ArchivesRepository,
    private readonly history: TickHistory,
    private readonly drain: Drain,
  ) {}

  @Post('archive/run')
  @TakesKey()
  @Answers(ArchiveRun, 200, 'Archived.')
  @Problems('lock_busy', 'lock_unavailable', 'lease_lost', 'database_unavailable')
  @Rules(adminOnly)
  @Idempotent()
  @HttpCode(200)
  run(): Promise<unknown> {
    return this.drain.track(this.jobs.runByHand(ARCHIVE_JOB));
  }

  @Get('archive/ticks')
  @Answers(TickPage)
  @Problems('invalid_cursor', 'database_unavailable')
  @Rules(adminOnly)
  ticks(@Query() query: PageQuery): Promise<TickPage> {
    return this.history.list(query);
  }

  @Get('archives')
  @Answers(ArchivePage)
  @Problems('invalid_cursor', 'database_unavailable')
  @Rules(adminOnly)
  list(@Query() query: PageQuery): Promise<ArchivePage> {
    return this.archives.list(query);
  }

  @Get('archives/:id')
  @AnswersAs('application/jsonl', 'One conversation a line.')
  @Problems('archive_not_found', 'database_unavailable')
  @Rules(adminOnly)
  async content(
    @Param() { id }: RecordId,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    const packed = await this.archives.content(id);
    if (!packed) throw new ArchiveNotFoundError(id);
    const lines = await unpackArchive(packed);
    const { sha256 } = packed;
    void reply.headers({
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`, // RFC 9530
      'x-checksum-sha256': sha256,
    });
    return new StreamableFile(lines, { type: 'application/jsonl; charset=utf-8' });
  }
}
