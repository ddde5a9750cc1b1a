import { ConfigurableModuleBuilder, Module } from '@nestjs/common';
import type { LockService } from '../nest/lock.service.js';
import { DEFAULT_LOCK_INSTANCE, getLockServiceToken } from '../nest/lock.tokens.js';
import type { TickMarks } from '../ticks/tick-marks.js';
import { JobExplorerModule } from './job-explorer.js';
import { ScheduledJobs } from './scheduled-jobs.js';

/** The settings of the scheduled jobs. */
export interface ScheduledJobsOptions {
  /** Where the jobs' high-water marks are; all replicas must share it. */
  readonly marks: TickMarks;
}

/** What is known before the settings are. */
export interface ScheduledJobsExtras {
  /**
   * The LockModule instance that the jobs' locks come from.
   * @default 'default'
   */
  readonly instance?: string | undefined;
}

const builder = new ConfigurableModuleBuilder<ScheduledJobsOptions>({
  moduleName: 'ScheduledJobs',
  optionsInjectionToken: 'SCHEDULED_JOBS_OPTIONS',
})
  .setClassMethodName('forRoot')
  .setExtras<ScheduledJobsExtras>(
    { instance: DEFAULT_LOCK_INSTANCE },
    (definition, { instance }) => ({
      ...definition,
      global: true,
      imports: [...(definition.imports ?? []), JobExplorerModule],
      providers: [
        ...(definition.providers ?? []),
        {
          provide: ScheduledJobs,
          inject: [getLockServiceToken(instance), 'SCHEDULED_JOBS_OPTIONS'],
          useFactory: (locks: LockService, { marks }: ScheduledJobsOptions) =>
            new ScheduledJobs(locks, marks),
        },
      ],
      exports: [ScheduledJobs],
    }),
  );

const { ConfigurableModuleClass } = builder.build();

/**
 * Scheduled jobs that run once per instant over all replicas: `forRoot({ marks })` or `forRootAsync`,
 * beside LockModule and `ScheduleModule.forRoot()` of @nestjs/schedule.
 */
@Module({})
export class ScheduledJobsModule extends ConfigurableModuleClass {}
