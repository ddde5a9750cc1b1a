import { Inject, SetMetadata } from '@nestjs/common';
import type { Lease } from '../core/lease.js';
import { LockOptionsError } from '../core/lock.errors.js';
import { copyIdentity } from '../nest/copy-identity.js';
import { resolveTickJob, type TickJobOptions } from '../ticks/tick-options.js';
import type { Tick } from '../ticks/tick-report.js';
import { ScheduledJobs } from './scheduled-jobs.js';

/** What a method with `@OncePerTick` looks like; it may leave out the parameters it does not need. */
export type ScheduledMethod = (lease: Lease, tick: Tick) => unknown;

/** What the decorator leaves on a method for the explorer. */
export interface OncePerTickMetadata {
  readonly options: TickJobOptions;
  readonly method: ScheduledMethod;
}

/** Metadata key of OncePerTickMetadata. */
export const ONCE_PER_TICK = Symbol('OncePerTick');

const jobsKey = Symbol.for('the jobs of @OncePerTick: import ScheduledJobsModule.forRoot');

/**
 * Runs a cron method once per scheduled instant, over all processes:
 *
 *     @Cron('0 0 3 * * *', { name: 'nightly', timeZone: 'Europe/Paris' })
 *     @OncePerTick('nightly')
 *     async nightly(lease: Lease, tick: Tick) { … }
 *
 * `name` is the job's for good, and the name of its cron job: one of `@Cron`, or one that was added to
 * the SchedulerRegistry before the application's bootstrap (its `onTick` calls `ScheduledJobs.run`).
 * What the registry holds under that name later, changed or replaced, is followed too. Called otherwise
 * than by that cron job the method refuses: to run it now there is `ScheduledJobs.runByHand(name)`.
 *
 * The application does not start without ScheduledJobsModule, with two jobs of one name, without a
 * cron job of that name, with another timer on the method, with two SchedulerRegistries, or on a
 * provider that is not a singleton.
 * @throws LockOptionsError when the class is defined, for options that cannot work
 */
export function OncePerTick(name: string, options: Omit<TickJobOptions, 'name'> = {}) {
  return <M extends ScheduledMethod>(
    target: object,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ): void => {
    const site = `@OncePerTick(${JSON.stringify(name)}) on ${target.constructor.name}.${String(property)}`;
    const method = descriptor.value;
    if (typeof method !== 'function' || typeof target === 'function') {
      throw new LockOptionsError(`${site} works on methods of instances only.`);
    }
    const job = { ...options, name };
    resolveTickJob(job);
    const wrapper = async function (
      this: Record<symbol, ScheduledJobs> | undefined,
    ): Promise<void> {
      const jobs = this?.[jobsKey];
      if (!jobs) {
        throw new LockOptionsError(
          `${site}: the instance has no ScheduledJobs. Nest injects it into what it creates itself, after the constructor.`,
        );
      }
      await jobs.run(name);
    };
    copyIdentity(method, wrapper);
    SetMetadata<symbol, OncePerTickMetadata>(ONCE_PER_TICK, { options: job, method })(
      target,
      property,
      { value: wrapper },
    );
    Inject(ScheduledJobs)(target, jobsKey);
    (descriptor as TypedPropertyDescriptor<unknown>).value = wrapper;
  };
}
