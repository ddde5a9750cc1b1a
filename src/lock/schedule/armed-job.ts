import { AsyncLocalStorage } from 'node:async_hooks';
import type { SchedulerRegistry } from '@nestjs/schedule';

/** A job as @nestjs/schedule keeps it. */
export type CronJob = ReturnType<SchedulerRegistry['getCronJob']>;

type Schedule = CronJob['cronTime'];

/** One firing of a cron job's timer. */
export interface FiredTick {
  /** The instant the timer was armed for, however late or early it fired. */
  readonly scheduledAt: Date;
  /** From that instant to the one the timer is armed for next, in ms. */
  readonly periodMs: number;
}

interface Firing {
  readonly job: string;
  tick: FiredTick | undefined;
}

const firings = new AsyncLocalStorage<Firing>();

// A timer that looks at the clock a moment before it fires finds the instant only just past.
const JUST_PAST_MS = 1_000;

/**
 * Remembers for which instant a cron job's timer is armed, and hands that instant to what the timer
 * calls (`takeFiredTick`). The job itself only tells when it fired, which is another thing after a
 * blocked event loop or a step of the clock. A tick that comes late is never skipped; those that
 * would have come meanwhile are. Follows the job over `setTime`, `stop` and `start`; what it calls
 * while `isCurrent` says no is not told of an instant. An active job is armed anew.
 */
export function followTimer(name: string, job: CronJob, isCurrent: () => boolean): void {
  let armedMs: number | undefined;
  let firedMs: number | undefined;
  let lastFiring = job.lastDate();
  let isStarting = false;

  /** Keeps the instant of a firing that nobody has seen yet; only by firing does a job get another date. */
  const noteFiring = (): void => {
    if (job.lastDate() === lastFiring) return;
    lastFiring = job.lastDate();
    firedMs = armedMs;
  };
  const timeoutOf = (schedule: Schedule): number => {
    const now = Date.now();
    noteFiring();
    const next = schedule.sendAt().toMillis();
    const agoMs = armedMs === undefined ? -1 : now - armedMs;
    // While its timer runs a job only looks at the time left; it is armed when it starts.
    const isJustPast = !isStarting && agoMs >= 0 && agoMs < JUST_PAST_MS;
    if (!isJustPast) armedMs = next;
    return Math.max(1, next - now); // never negative: the job would skip the tick with a warning
  };
  /** A schedule of the same class, and equal to `schedule` in all else. */
  const followed = (schedule: Schedule): Schedule =>
    Object.create(schedule, { getTimeout: { value: () => timeoutOf(schedule) } }) as Schedule;

  let current = followed(job.cronTime);
  Object.defineProperty(job, 'cronTime', {
    get: () => current,
    set: (schedule: Schedule) => {
      if (schedule !== current) current = followed(schedule);
    },
    enumerable: true,
    configurable: true,
  });

  const start = job.start.bind(job);
  job.start = () => {
    isStarting = true;
    try {
      start();
    } finally {
      isStarting = false;
    }
  };

  const fireOnTick = job.fireOnTick.bind(job);
  job.fireOnTick = () => {
    noteFiring(); // a job for a single date is not armed again before it calls
    const scheduledMs = firedMs;
    firedMs = undefined;
    if (scheduledMs === undefined || !isCurrent()) return fireOnTick();
    const periodMs = Math.max(0, (armedMs ?? scheduledMs) - scheduledMs);
    const tick = { scheduledAt: new Date(scheduledMs), periodMs };
    return firings.run({ job: name, tick }, fireOnTick);
  };

  if (job.isActive) job.setTime(current);
}

/** The firing that has led here, if a timer of the job did; only once per firing. */
export function takeFiredTick(name: string): FiredTick | undefined {
  const firing = firings.getStore();
  if (firing?.job !== name) return undefined;
  const { tick } = firing;
  firing.tick = undefined;
  return tick;
}
