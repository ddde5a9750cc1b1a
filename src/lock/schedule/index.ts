/** The door for cron jobs, apart from the other since it needs @nestjs/schedule. */
export { OncePerTick, type ScheduledMethod } from './once-per-tick.decorator.js';
export {
  type ScheduledJobsExtras,
  ScheduledJobsModule,
  type ScheduledJobsOptions,
} from './scheduled-jobs.module.js';
export { ScheduledJobs } from './scheduled-jobs.js';
