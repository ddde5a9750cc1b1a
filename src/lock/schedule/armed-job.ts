import { AsyncLocalStorage } from 'node:async_hooks';
import type { SchedulerRegistry } from '@nestjs/schedule';

/** A job as @nestjs/schedule keeps it. */
export type CronJob = ReturnType<SchedulerRegistry['getCronJob']>;

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
 * would have come meanwhile are.
 */
export function followTimer(name: string, job: CronJob): void {
  let armedMs: number | undefined;
  let firedMs: number | undefined;
  let lastFiring = job.lastDate();

  /** Whether the timer has fired since the last look; only then does the job have another date. */
  const noteFiring = (): boolean => {
    if (job.lastDate() === lastFiring) return false;
    lastFiring = job.lastDate();
    firedMs = armedMs;
    return true;
  };
  const schedule = job.cronTime;
  const getTimeout = (): number => {
    const now = Date.now();
    const hasFired = noteFiring();
    const isLook = !hasFired && armedMs !== undefined;
    const next = schedule.sendAt().toMillis();
    const isJustPast = isLook && now >= (armedMs ?? 0) && now - (armedMs ?? 0) < JUST_PAST_MS;
    if (!isJustPast) armedMs = next;
    return Math.max(1, next - now); // never negative: the job would skip the tick with a warning
  };
  // A schedule of the same class, and equal to the old one in all else.
  job.setTime(Object.create(schedule, { getTimeout: { value: getTimeout } }) as typeof schedule);

  const fireOnTick = job.fireOnTick.bind(job);
  job.fireOnTick = () => {
    noteFiring(); // a job for a single date is not armed again before it calls
    const scheduledMs = firedMs;
    firedMs = undefined;
    if (scheduledMs === undefined) return fireOnTick(); // called by hand
    const periodMs = Math.max(0, (armedMs ?? scheduledMs) - scheduledMs);
    const tick = { scheduledAt: new Date(scheduledMs), periodMs };
    return firings.run({ job: name, tick }, fireOnTick);
  };
}

/** The firing that has led here, if a timer of the job did; only once per firing. */
export function takeFiredTick(name: string): FiredTick | undefined {
  const firing = firings.getStore();
  if (firing?.job !== name) return undefined;
  const { tick } = firing;
  firing.tick = undefined;
  return tick;
}
