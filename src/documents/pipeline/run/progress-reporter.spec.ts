import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { type StageProgress } from '../../document-runs.repository.js';
import { ProgressReporter } from './progress-reporter.js';

describe('the progress reporter', () => {
  it('saves the beginning of a stage at once, and then seldom, the latest only', async () => {
    const written: StageProgress[] = [];
    const reporter = new ProgressReporter(async (progress) => void written.push(progress));
    await reporter.enter('extract');
    for (let page = 1; page <= 100; page += 1) reporter.report(page, 480);
    expect(written).toEqual([{ stage: 'extract', done: 0, total: null }]);
    await delay(210);
    reporter.report(101, 480);
    await reporter.enter('chunk');
    expect(written.slice(1)).toEqual([
      { stage: 'extract', done: 101, total: 480 },
      { stage: 'chunk', done: 0, total: null },
    ]);
  });

  it('has at most one write under way', async () => {
    let running = 0;
    let most = 0;
    const reporter = new ProgressReporter(async () => {
      running += 1;
      most = Math.max(most, running);
      await delay(250);
      running -= 1;
    });
    await reporter.enter('embed');
    for (let done = 1; done <= 30; done += 1) {
      reporter.report(done, 30);
      await delay(20);
    }
    await reporter.settle();
    expect(most).toBe(1);
  });

  it('ends the stage whose progress could not be saved', async () => {
    let fail = false;
    const reporter = new ProgressReporter(async () => {
      if (fail) throw new Error('a stale fence');
    });
    await reporter.enter('embed');
    fail = true;
    await delay(210);
    reporter.report(1, 2);
    await delay(1);
    expect(() => reporter.report(2, 2)).toThrow('a stale fence');
    await expect(reporter.settle()).rejects.toThrow('a stale fence');
  });
});
