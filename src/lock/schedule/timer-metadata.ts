import 'reflect-metadata';
import { LockOptionsError } from '../core/lock.errors.js';

/** The timer that a decorator of @nestjs/schedule gives a method. */
export interface MethodTimer {
  readonly kind: '@Cron' | '@Timeout' | '@Interval';
  /** As given to the decorator. */
  readonly name: string | undefined;
}

/** What @nestjs/schedule notes under `SCHEDULER_TYPE`; it does not export it. */
const kinds = new Map<unknown, MethodTimer['kind']>([
  [1, '@Cron'],
  [2, '@Timeout'],
  [3, '@Interval'],
]);

/** The method's timer; undefined where no decorator gave it one. */
export function timerOf(method: object): MethodTimer | undefined {
  const kind = kinds.get(Reflect.getMetadata('SCHEDULER_TYPE', method));
  const name: unknown = Reflect.getMetadata('SCHEDULER_NAME', method);
  return kind && { kind, name: typeof name === 'string' ? name : undefined };
}

/** Gives the timer back. @throws LockOptionsError for one whose firings are not the job's instants */
export function checkTimer(job: string, timer: MethodTimer | undefined): MethodTimer | undefined {
  if (!timer || (timer.kind === '@Cron' && timer.name === job)) return timer;
  const why =
    timer.kind === '@Cron'
      ? `its method has a cron job ${timer.name === undefined ? 'without a name' : `named "${timer.name}"`}`
      : `its method has ${timer.kind}, which fires at other times on each replica`;
  throw new LockOptionsError(
    `Job "${job}" cannot run once per instant: ${why}. Say @Cron(…, { name: '${job}' }).`,
  );
}
