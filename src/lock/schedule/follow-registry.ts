import type { SchedulerRegistry } from '@nestjs/schedule';
import { type CronJob, followTimer } from './armed-job.js';

/**
 * Follows the timers of the registry's cron jobs of these names: those that it holds, and those that
 * are added later, also in the place of others. A job that was deleted is no longer followed.
 */
export function followRegistry(registry: SchedulerRegistry, names: ReadonlySet<string>): void {
  const followed = new WeakSet<CronJob>();
  const follow = (name: string, job: CronJob) => {
    if (!names.has(name) || followed.has(job)) return;
    followed.add(job);
    followTimer(name, job, () => registry.getCronJobs().get(name) === job);
  };
  const addCronJob = registry.addCronJob.bind(registry);
  registry.addCronJob = (name, job) => {
    addCronJob(name, job);
    follow(name, job);
  };
  for (const [name, job] of registry.getCronJobs()) follow(name, job);
}
