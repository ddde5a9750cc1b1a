import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type DynamicModule, Injectable, Scope, type Type } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { CapturingLogger, Test, type TestingModule } from '@nestjs/testing';
import { CronJob } from 'cron';
import {
  currentLease,
  type Lease,
  LockBusyError,
  LockModule,
  LockOptionsError,
  LockService,
  MemoryLockStore,
  MemoryTickMarks,
  type Tick,
  type TickReport,
  WithLock,
} from '../index.js';
import { OncePerTick, ScheduledJobs, ScheduledJobsModule } from './index.js';

const START = Date.UTC(2026, 0, 1);

let marks: MemoryTickMarks;
let store: MemoryLockStore;
let apps: TestingModule[];
let runs: string[];
let reports: TickReport[];
let logger: CapturingLogger;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  marks = new MemoryTickMarks();
  store = new MemoryLockStore();
  apps = [];
  runs = [];
  reports = [];
  logger = new CapturingLogger();
});

afterEach(async () => {
  jest.useRealTimers();
  await Promise.all(apps.map((app) => app.close()));
});

@Injectable()
class Nightly {
  readonly greeting = 'held';

  @Cron('*/2 * * * * *', { name: 'spec-nightly', timeZone: 'UTC' })
  @OncePerTick('spec-nightly')
  async nightly(lease: Lease, tick: Tick): Promise<string> {
    lease.assertHeld();
    const seconds = tick.scheduledAt && (tick.scheduledAt.getTime() - START) / 1_000;
    runs.push(`${seconds ?? 'by hand'} ${currentLease() === lease ? this.greeting : 'not held'}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return 'done';
  }
}

/** The modules in an order in which decorators would not do by themselves. */
async function boot(providers: Type[], order: 'jobs-first' | 'jobs-last' = 'jobs-last') {
  const jobs = ScheduledJobsModule.forRoot({ marks });
  const rest: DynamicModule[] = [ScheduleModule.forRoot(), LockModule.forRoot({ store })];
  const imports = order === 'jobs-first' ? [jobs, ...rest] : [...rest, jobs];
  const app = await Test.createTestingModule({ imports, providers }).setLogger(logger).compile();
  app.get(ScheduledJobs).onReport((report) => reports.push(report));
  apps.push(app);
  await app.init();
  return app;
}

const outcomes = () => reports.map(({ outcome }) => outcome);

describe('a method with @Cron and @OncePerTick', () => {
  it.each(['jobs-first', 'jobs-last'] as const)(
    'runs each instant once over two applications, under the lock (%s)',
    async (order) => {
      await boot([Nightly], order);
      await jest.advanceTimersByTimeAsync(500);
      await boot([Nightly], order);
      await jest.advanceTimersByTimeAsync(6_000);
      expect(runs).toEqual(['2 held', '4 held', '6 held']);
      expect(outcomes().sort()).toEqual([
        ...['ran', 'ran', 'ran'],
        ...['skipped-held', 'skipped-held', 'skipped-held'],
      ]);
    },
  );

  it('runs the instant it was armed for when the event loop was blocked over it', async () => {
    await boot([Nightly]);
    await jest.advanceTimersByTimeAsync(1_000);
    jest.setSystemTime(START + 9_000);
    await jest.advanceTimersByTimeAsync(1_100);
    expect(runs).toEqual(['2 held']);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(runs).toEqual(['2 held', '12 held']);
  });

  it('is refused on a machine whose clock is a day ahead of the store', async () => {
    const aDayAgo = {
      now: () => ({ monoMs: performance.now(), wallMs: Date.now() - 86_400_000 }),
      setTimer: () => () => undefined,
      afterInput: () => undefined,
      jitterMs: () => 0,
    };
    store = new MemoryLockStore(aDayAgo);
    await boot([Nightly]);
    await jest.advanceTimersByTimeAsync(2_500);
    expect(runs).toEqual([]);
    expect(reports).toMatchObject([{ outcome: 'clock-fault', aheadMs: 86_400_000 }]);
  });

  it('runs by hand under the lock, without a mark, and is refused while it runs', async () => {
    const jobs = (await boot([Nightly])).get(ScheduledJobs);
    const byHand = jobs.runByHand('spec-nightly');
    await jest.advanceTimersByTimeAsync(1);
    await expect(jobs.runByHand('spec-nightly')).rejects.toThrow(LockBusyError);
    await jest.advanceTimersByTimeAsync(10);
    expect(await byHand).toBe('done');
    await jest.advanceTimersByTimeAsync(2_000);
    expect(runs).toEqual(['by hand held', '2 held']);
    expect(Object.fromEntries(jobs.runner('spec-nightly').counts)).toEqual({ ran: 1 });
  });

  it('works with the two decorators in the other order', async () => {
    @Injectable()
    class Turned {
      @OncePerTick('spec-turned')
      @Cron('* * * * * *', { name: 'spec-turned', timeZone: 'UTC' })
      async job(lease: Lease, tick: Tick): Promise<void> {
        runs.push(`${lease.name} ${tick.scheduledAt?.getTime()}`);
      }
    }
    await boot([Turned]);
    await boot([Turned]);
    await jest.advanceTimersByTimeAsync(1_100);
    expect(runs).toEqual([`job:spec-turned ${START + 1_000}`]);
  });

  it('that throws is reported once and runs at the next instant again', async () => {
    let boom = true;
    @Injectable()
    class Failing {
      @Cron('* * * * * *', { name: 'spec-failing', timeZone: 'UTC' })
      @OncePerTick('spec-failing')
      tick(): void {
        if (boom) throw new Error('boom');
      }
    }
    await boot([Failing]);
    await jest.advanceTimersByTimeAsync(1_100);
    boom = false;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(outcomes()).toEqual(['failed', 'ran']);
    expect(logger.filter({ level: 'error' })).toMatchObject([
      { message: expect.stringMatching(/"spec-failing".*failed/) },
    ]);
  });

  it('keeps name, length and what other decorators put on it, above and below', () => {
    class Decorated {
      @WithLock('other')
      @OncePerTick('spec-decorated')
      async job(_lease: Lease): Promise<void> {}
    }
    expect(Decorated.prototype.job.name).toBe('job');
    expect(Decorated.prototype.job.length).toBe(1);
  });

  it('works under a decorator that takes its time', async () => {
    @Injectable()
    class Nested {
      @Cron('* * * * * *', { name: 'spec-nested', timeZone: 'UTC' })
      @WithLock('outer', { onBusy: 'skip' })
      @OncePerTick('spec-nested')
      async job(lease: Lease, tick: Tick): Promise<void> {
        runs.push(`${lease.name} ${tick.scheduledAt?.getTime()}`);
      }
    }
    const app = await boot([Nested]);
    await jest.advanceTimersByTimeAsync(1_100);
    expect(runs).toEqual([`job:spec-nested ${START + 1_000}`]);
    expect(await app.get(LockService).inspect('outer')).toBeNull();
  });

  it('takes a cron job that was added to the registry at run time', async () => {
    @Injectable()
    class Configured {
      constructor(registry: SchedulerRegistry, jobs: ScheduledJobs) {
        const onTick = () => jobs.run('spec-configured');
        const cronTime = '*/3 * * * * *';
        const job = CronJob.from({ cronTime, timeZone: 'UTC', onTick, start: true });
        registry.addCronJob('spec-configured', job);
      }

      @OncePerTick('spec-configured', { mode: 'at-least-once' })
      job(_lease: Lease, tick: Tick): void {
        runs.push(String((tick.scheduledAt?.getTime() ?? 0) - START));
      }
    }
    await boot([Configured]);
    await jest.advanceTimersByTimeAsync(7_000);
    expect(runs).toEqual(['3000', '6000']);
  });
});

describe('the application does not start', () => {
  @Injectable()
  class Base {
    @Cron('0 0 3 * * *', { name: 'spec-base' })
    @OncePerTick('spec-base')
    job(): void {}
  }

  it('with two jobs of one name', async () => {
    @Injectable()
    class Other {
      @OncePerTick('spec-base')
      job(): void {}
    }
    await expect(boot([Base, Other])).rejects.toThrow(/Two scheduled jobs are named "spec-base"/);
  });

  it('with a job whose cron job has another name, or none', async () => {
    @Injectable()
    class Nameless {
      @Cron('0 0 4 * * *')
      @OncePerTick('spec-nameless')
      job(): void {}
    }
    await expect(boot([Nameless])).rejects.toThrow(
      /"spec-nameless" cannot run once per instant: .* without a name/,
    );
  });

  it('with a job on a request-scoped provider, which would never run', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      @Cron('0 0 4 * * *', { name: 'spec-per-request' })
      @OncePerTick('spec-per-request')
      job(): void {}
    }
    await expect(boot([PerRequest])).rejects.toThrow(/not a singleton/);
  });

  it('without the module', async () => {
    const modules = { imports: [ScheduleModule.forRoot()], providers: [Base] };
    const app = Test.createTestingModule(modules).setLogger(logger).compile();
    await expect(app).rejects.toThrow(/import ScheduledJobsModule.forRoot/);
  });

  it('and the class is not defined, with options that cannot work', () => {
    expect(() => {
      class Wrong {
        @OncePerTick('spec-wrong', { lock: { ttlMs: 1 } })
        job(): void {}
      }
      return Wrong;
    }).toThrow(LockOptionsError);
  });
});

it('starts without cron jobs, for tests that switch them off', async () => {
  const imports = [
    ScheduleModule.forRoot({ cronJobs: false }),
    LockModule.forRoot({ store }),
    ScheduledJobsModule.forRootAsync({ useFactory: () => ({ marks }) }),
  ];
  const module = Test.createTestingModule({ imports, providers: [Nightly] });
  const app = await module.setLogger(logger).compile();
  apps.push(app);
  await app.init();
  await jest.advanceTimersByTimeAsync(5_000);
  expect(runs).toEqual([]);
});
