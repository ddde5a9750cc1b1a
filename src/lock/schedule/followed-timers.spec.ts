import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Module, type Type } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { CapturingLogger, Test, type TestingModule } from '@nestjs/testing';
import { CronJob, CronTime } from 'cron';
import {
  LockModule,
  LockOptionsError,
  MemoryLockStore,
  MemoryTickMarks,
  type Tick,
  type TickReport,
} from '../index.js';
import { OncePerTick, ScheduledJobs, ScheduledJobsModule } from './index.js';

const START = Date.UTC(2026, 0, 1);

let marks: MemoryTickMarks;
let store: MemoryLockStore;
let apps: TestingModule[];
let runs: (number | 'by hand')[];
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

function note({ scheduledAt }: Tick): void {
  runs.push(scheduledAt ? (scheduledAt.getTime() - START) / 1_000 : 'by hand');
}

@Injectable()
class Nightly {
  @Cron('*/4 * * * * *', { name: 'nightly', timeZone: 'UTC' })
  @OncePerTick('nightly')
  async nightly(_lease: unknown, tick: Tick): Promise<void> {
    note(tick);
  }
}

async function boot(provider: Type, more: Type[] = []): Promise<TestingModule> {
  const imports = [
    ScheduleModule.forRoot(),
    LockModule.forRoot({ store }),
    ScheduledJobsModule.forRoot({ marks }),
    ...more,
  ];
  const testing = Test.createTestingModule({ imports, providers: [provider] });
  const app = await testing.setLogger(logger).compile();
  apps.push(app);
  app.get(ScheduledJobs).onReport((report) => reports.push(report));
  await app.init();
  return app;
}

/** Two replicas of the service, half a second apart. */
async function bootTwo(): Promise<SchedulerRegistry[]> {
  const first = await boot(Nightly);
  await jest.advanceTimersByTimeAsync(500);
  return [first, await boot(Nightly)].map((app) => app.get(SchedulerRegistry));
}

/** What would replace the cron job of the replica whose jobs these are. */
function everySecond(jobs: ScheduledJobs): CronJob {
  return CronJob.from({
    cronTime: '* * * * * *',
    timeZone: 'UTC',
    onTick: () => jobs.run('nightly'),
    errorHandler: () => undefined, // the jobs have logged it
    start: true,
  });
}

const errors = () => logger.filter({ level: 'error' }).map(({ message }) => String(message));

describe('what the SchedulerRegistry holds now is followed', () => {
  it('when a job gets a new schedule: each of its instants runs once over two replicas', async () => {
    const registries = await bootTwo();
    await jest.advanceTimersByTimeAsync(4_000);
    for (const registry of registries) {
      registry.getCronJob('nightly').setTime(new CronTime('*/2 * * * * *', 'UTC'));
    }
    await jest.advanceTimersByTimeAsync(6_000);
    expect(runs).toEqual([4, 6, 8, 10]);
    expect(reports.filter(({ outcome }) => outcome === 'ran')).toHaveLength(4);
  });

  it('when a job is deleted and another is added in its place', async () => {
    const registries = await bootTwo();
    await jest.advanceTimersByTimeAsync(4_000);
    registries.forEach((registry, i) => {
      registry.deleteCronJob('nightly');
      registry.addCronJob('nightly', everySecond(apps[i]!.get(ScheduledJobs)));
    });
    await jest.advanceTimersByTimeAsync(3_000);
    expect(runs).toEqual([4, 5, 6, 7]);
  });

  it('when the same job is deleted, added again and started', async () => {
    const registry = (await boot(Nightly)).get(SchedulerRegistry);
    const job = registry.getCronJob('nightly');
    registry.deleteCronJob('nightly');
    registry.addCronJob('nightly', job);
    await jest.advanceTimersByTimeAsync(5_000);
    job.start();
    await jest.advanceTimersByTimeAsync(4_000);
    expect(runs).toEqual([8]);
  });

  it('but a job that it no longer holds runs nothing, and says so at error level', async () => {
    const registry = (await boot(Nightly)).get(SchedulerRegistry);
    const job = registry.getCronJob('nightly');
    registry.deleteCronJob('nightly');
    job.start();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(runs).toEqual([]);
    expect(errors()).toContainEqual(expect.stringMatching(/"nightly" was called, but not by/));
  });
});

describe('a timer that is not followed runs nothing, and says so at error level', () => {
  it('when it calls the method', async () => {
    const app = await boot(Nightly);
    await expect(app.get(Nightly).nightly(undefined, {} as Tick)).rejects.toThrow(LockOptionsError);
    expect(errors()).toEqual([expect.stringMatching(/runByHand\("nightly"\)/)]);
    expect(runs).toEqual([]);
  });

  it('when it is a cron job of another name', async () => {
    const app = await boot(Nightly);
    app.get(SchedulerRegistry).addCronJob('other', everySecond(app.get(ScheduledJobs)));
    await jest.advanceTimersByTimeAsync(1_500);
    expect(runs).toEqual([]);
    expect(errors()).toContainEqual(expect.stringMatching(/"nightly" was called, but not by/));
  });

  it('when a cron job is fired by hand', async () => {
    const app = await boot(Nightly);
    await app.get(SchedulerRegistry).getCronJob('nightly').fireOnTick();
    expect(runs).toEqual([]);
    expect(errors()).toContainEqual(expect.stringMatching(/"nightly" was called, but not by/));
  });
});

describe('the application does not start', () => {
  it('with two SchedulerRegistries, whose timers would run each instant twice', async () => {
    class Feature {}
    Module({ imports: [ScheduleModule.forRoot()] })(Feature);
    await expect(boot(Nightly, [Feature])).rejects.toThrow(
      /2 SchedulerRegistries.*ScheduleModule\.forRoot\(\) in one module only/,
    );
  });

  it.each([
    ['@Interval', Interval('spec', 1_000)],
    ['@Timeout', Timeout('spec', 1_000)],
  ])('with a job whose method has %s', async (kind, timer) => {
    @Injectable()
    class Mistimed {
      @timer
      @OncePerTick('mistimed')
      job(): void {}
    }
    await expect(boot(Mistimed)).rejects.toThrow(
      new RegExp(`"mistimed" cannot run once per instant: its method has ${kind}`),
    );
  });

  it('with a job whose method has a cron job of another name', async () => {
    @Injectable()
    class Misnamed {
      @Cron('* * * * * *', { name: 'other' })
      @OncePerTick('misnamed')
      job(): void {}
    }
    await expect(boot(Misnamed)).rejects.toThrow(/a cron job named "other"/);
  });

  it('with a job that has no timer at all', async () => {
    @Injectable()
    class Timeless {
      @OncePerTick('timeless')
      job(): void {}
    }
    await expect(boot(Timeless)).rejects.toThrow(/"timeless" has no cron job of that name/);
  });
});
