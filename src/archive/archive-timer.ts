import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { CronJob } from 'cron';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { Drain } from '../http/index.js';
import { ScheduledJobs } from '../lock/schedule/index.js';
import { ARCHIVE_JOB } from './archive-job.js';

/** The archiver's cron job: its expression comes from the settings, which a decorator cannot know. */
@Injectable()
export class ArchiveTimer implements OnModuleInit, OnApplicationBootstrap {
  private readonly logger = new Logger(ArchiveTimer.name);
  private readonly job: CronJob;

  constructor(
    @Inject(APP_CONFIG) { archive }: AppConfig,
    private readonly registry: SchedulerRegistry,
    private readonly jobs: ScheduledJobs,
    private readonly drain: Drain,
  ) {
    this.job = CronJob.from({
      name: ARCHIVE_JOB,
      cronTime: archive.cron,
      timeZone: archive.timeZone,
      onTick: () => this.fire(),
      errorHandler: (error: unknown) => this.logger.error(error),
      start: false,
    });
  }

  onModuleInit(): void {
    this.registry.addCronJob(ARCHIVE_JOB, this.job);
  }

  onApplicationBootstrap(): void {
    this.job.start();
  }

  private async fire(): Promise<void> {
    // A replica that shuts down begins nothing; the others take the tick.
    if (!this.drain.isLeaving) await this.drain.track(this.jobs.run(ARCHIVE_JOB));
  }
}
