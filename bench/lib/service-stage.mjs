import { readFileSync, writeFileSync } from 'node:fs';
import { startPostgres } from '../../test/support/postgres.ts';
import { startRedis } from '../../test/support/redis.ts';
import { ServiceProcess } from '../../test/support/service-process.ts';
import { pause } from './clock.mjs';
import { quantile } from './statistics.mjs';

/** What a case of bench/service/ works with; whatever it starts here ends with the case. */
export class Stage {
  #started = [];

  /** @param {boolean} isQuick whether a first look is enough */
  constructor(isQuick) {
    this.isQuick = isQuick;
  }

  /**
   * A replica that is ready: a ServiceProcess (see test/support), measured by `usage`.
   * @param {Record<string, string>} [env]
   */
  async service(env = {}) {
    return this.#keep(await ServiceProcess.start(env));
  }

  /** A Redis server without persistence. */
  async redis() {
    return this.#keep(await startRedis());
  }

  /** A PostgreSQL server. */
  async postgres() {
    return this.#keep(await startPostgres());
  }

  /** Ends everything, the last first. */
  async end() {
    for (const each of this.#started.reverse()) await each[Symbol.asyncDispose]();
  }

  #keep(disposable) {
    this.#started.push(disposable);
    return disposable;
  }
}

// USER_HZ, which Linux shows to programs as 100 on every architecture that Node runs on.
const MS_PER_TICK = 10;

/**
 * CPU time since its start, and memory now and at its peak, of a process.
 * @param {number} pid
 * @returns {{ cpuMs: number, rssMb: number, peakMb: number }}
 */
export function usage(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field) =>
    Math.round(Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)[1]) / 1024);
  return {
    cpuMs: (Number(stat[11]) + Number(stat[12])) * MS_PER_TICK,
    rssMb: megabytes('VmRSS'),
    peakMb: megabytes('VmHWM'),
  };
}

/** Begins the peak of a process's memory anew. */
export function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/**
 * How long `/health/live` takes while `work` is done, asked every 10 ms over connections of their own.
 * @template T
 * @param {{ url: string }} service
 * @param {() => Promise<T>} work
 * @returns {Promise<{ result: T, p50Ms: number, p99Ms: number, maxMs: number }>}
 */
export async function whileAlive({ url }, work) {
  const times = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const asked = performance.now();
      await (await fetch(`${url}/health/live`)).arrayBuffer();
      times.push(performance.now() - asked);
      await pause(10);
    }
  })();
  try {
    const result = await work();
    return {
      result,
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
      maxMs: quantile(times, 1),
    };
  } finally {
    isOver = true;
    await asking;
  }
}

/**
 * Text of that many characters with sentences and paragraphs, the same for the same seed.
 * @param {number} length
 */
export function prose(length, seed = 1) {
  let text = '';
  for (let i = seed; text.length < length; i += 1) {
    text += WORDS[(i * 7 + (i % 13) * seed) % WORDS.length] + (i % 11 === 0 ? '.\n\n' : ' ');
  }
  return text.slice(0, length);
}

const WORDS =
  'a worker takes the lock of one document and reads it while others wait until its lease ends'.split(
    ' ',
  );
