import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CronJob, CronTime } from 'cron';
import { type FiredTick, followTimer, takeFiredTick } from './armed-job.js';

const START = Date.UTC(2026, 0, 1);

let fired: (FiredTick | undefined)[];
let jobs: CronJob[];

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  fired = [];
  jobs = [];
});

afterEach(async () => {
  for (const job of jobs) await job.stop();
  jest.useRealTimers();
});

function start(cronTime: string, timeZone = 'UTC', more: { waitForCompletion?: boolean } = {}) {
  const onTick = () => void fired.push(takeFiredTick('job'));
  const job = CronJob.from({ cronTime, timeZone, onTick, start: true, ...more });
  followTimer('job', job, () => true);
  jobs.push(job);
  return job;
}

const instants = () => fired.map((tick) => tick && tick.scheduledAt.toISOString());
const offsets = () => fired.map((tick) => tick && tick.scheduledAt.getTime() - START);

describe('the instant of a tick', () => {
  it('is the one that the timer was armed for', async () => {
    start('*/2 * * * * *');
    await jest.advanceTimersByTimeAsync(6_500);
    expect(offsets()).toEqual([2_000, 4_000, 6_000]);
    expect(fired[0]?.periodMs).toBe(2_000);
  });

  it('is that one also when the timer fires late, over other instants', async () => {
    start('* * * * * *');
    await jest.advanceTimersByTimeAsync(1_500);
    jest.setSystemTime(START + 5_700); // a blocked event loop: time passes, no timer fires
    await jest.advanceTimersByTimeAsync(500);
    expect(offsets()).toEqual([1_000, 2_000]);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(offsets()).toEqual([1_000, 2_000, 7_000]);
  });

  it('is not lost by a timer that fires a moment before or after the clock says so', async () => {
    for (const offByMs of [-3, -1, 1, 3]) {
      jest.setSystemTime(START);
      fired = [];
      const job = start('* * * * * *');
      await jest.advanceTimersByTimeAsync(500);
      jest.setSystemTime(Date.now() - offByMs);
      await jest.advanceTimersByTimeAsync(3_000);
      await job.stop();
      expect(offsets()).toEqual([1_000, 2_000, 3_000]);
    }
  });

  it('is an earlier one after the clock was set back', async () => {
    start('0 * * * * *');
    await jest.advanceTimersByTimeAsync(60_000);
    jest.setSystemTime(START - 3_600_000);
    await jest.advanceTimersByTimeAsync(180_000);
    expect(offsets()).toEqual([60_000, 120_000 - 3_600_000, 180_000 - 3_600_000]);
  });

  it('is the one armed for, not now, after the clock was set forward', async () => {
    start('0 * * * * *');
    await jest.advanceTimersByTimeAsync(30_000);
    jest.setSystemTime(START + 3_600_000 + 45_000);
    await jest.advanceTimersByTimeAsync(75_000);
    expect(offsets()).toEqual([60_000, 3_720_000]);
  });

  it('stays exact for timers longer than Node can have', async () => {
    start('0 0 0 1 3 *');
    await jest.advanceTimersByTimeAsync(60 * 86_400_000);
    expect(instants()).toEqual(['2026-03-01T00:00:00.000Z']);
  });

  it('of a job for a single date is that date', async () => {
    const onTick = () => void fired.push(takeFiredTick('job'));
    const job = CronJob.from({ cronTime: new Date(START + 1_500), onTick, start: true });
    jobs.push(job);
    followTimer('job', job, () => true);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(offsets()).toEqual([1_500]);
  });

  it('is told once per firing, and not to calls by hand', async () => {
    const job = CronJob.from({
      cronTime: '* * * * * *',
      timeZone: 'UTC',
      onTick: () => void fired.push(takeFiredTick('job'), takeFiredTick('job')),
      start: true,
    });
    jobs.push(job);
    followTimer('job', job, () => true);
    await jest.advanceTimersByTimeAsync(1_100);
    expect(fired).toEqual([expect.anything(), undefined]);
    await job.fireOnTick();
    expect(fired.slice(2)).toEqual([undefined, undefined]);
    expect(takeFiredTick('job')).toBeUndefined();
  });

  it('survives decorators that take their time before the method', async () => {
    const job = CronJob.from({
      cronTime: '* * * * * *',
      timeZone: 'UTC',
      onTick: async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        fired.push(takeFiredTick('other'), takeFiredTick('job'));
      },
      start: true,
    });
    jobs.push(job);
    followTimer('job', job, () => true);
    await jest.advanceTimersByTimeAsync(1_400);
    expect(offsets()).toEqual([undefined, 1_000]);
  });

  it('starts anew when the job was stopped for a while', async () => {
    const job = start('* * * * * *');
    await jest.advanceTimersByTimeAsync(1_500);
    await job.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    job.start();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(offsets()).toEqual([1_000, 12_000]);
  });

  it('is a new one when the job was stopped over an instant, and started within a second after it', async () => {
    const job = start('*/3 * * * * *');
    await jest.advanceTimersByTimeAsync(2_700);
    await job.stop();
    await jest.advanceTimersByTimeAsync(700);
    job.start();
    await jest.advanceTimersByTimeAsync(3_000);
    expect(offsets()).toEqual([6_000]);
  });

  it('follows the job over a new schedule, set as often as one likes', async () => {
    const job = start('*/4 * * * * *');
    await jest.advanceTimersByTimeAsync(4_100);
    job.setTime(new CronTime('*/3 * * * * *', 'UTC'));
    await jest.advanceTimersByTimeAsync(4_000);
    job.cronTime = new CronTime('*/5 * * * * *', 'UTC');
    job.setTime(job.cronTime);
    await jest.advanceTimersByTimeAsync(7_000);
    expect(offsets()).toEqual([4_000, 6_000, 10_000, 15_000]);
    expect(fired.map((tick) => tick?.periodMs)).toEqual([4_000, 3_000, 5_000, 5_000]);
  });

  it('of a firing that the job skipped is not given to the next call by hand', async () => {
    let done = () => {};
    const job = CronJob.from({
      cronTime: '* * * * * *',
      timeZone: 'UTC',
      waitForCompletion: true,
      onTick: () => {
        fired.push(takeFiredTick('job'));
        return new Promise<void>((resolve) => (done = resolve));
      },
      start: true,
    });
    jobs.push(job);
    followTimer('job', job, () => true);
    await jest.advanceTimersByTimeAsync(3_500);
    done();
    await jest.advanceTimersByTimeAsync(0);
    void job.fireOnTick();
    done();
    await jest.advanceTimersByTimeAsync(1_000);
    done();
    expect(offsets()).toEqual([1_000, undefined, 4_000]);
  });
});

describe('daylight saving', () => {
  it('gives a time that does not exist one instant, and one that comes twice its first', async () => {
    jest.setSystemTime(Date.UTC(2026, 2, 28));
    start('0 30 2 * * *', 'Europe/Paris');
    await jest.advanceTimersByTimeAsync(3 * 86_400_000);
    expect(instants()).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z', // 02:30 is skipped that night: 03:00 summer time
      '2026-03-30T00:30:00.000Z',
    ]);
    for (const job of jobs.splice(0)) await job.stop();
    fired = [];
    jest.setSystemTime(Date.UTC(2026, 9, 24));
    start('0 30 2 * * *', 'Europe/Paris');
    await jest.advanceTimersByTimeAsync(3 * 86_400_000);
    expect(instants()).toEqual([
      '2026-10-24T00:30:00.000Z',
      '2026-10-25T00:30:00.000Z', // the first of the two 02:30 of that night
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  it('gives replicas in other zones the same instants, and each of them one period', async () => {
    jest.setSystemTime(Date.UTC(2026, 9, 24, 23));
    start('0 0 * * * *', 'Europe/Paris');
    const inParis = await jest.advanceTimersByTimeAsync(5 * 3_600_000).then(instants);
    for (const job of jobs.splice(0)) await job.stop();
    fired = [];
    jest.setSystemTime(Date.UTC(2026, 9, 24, 23));
    start('0 0 * * * *', 'America/Santiago');
    const inSantiago = await jest.advanceTimersByTimeAsync(5 * 3_600_000).then(instants);
    expect(inParis).toEqual(inSantiago);
    expect(new Set(inParis).size).toBe(5);
  });
});
