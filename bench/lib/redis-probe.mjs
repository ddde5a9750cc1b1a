import { Redis } from 'ioredis';

/** Slower scripts than this are noted by the server, in microseconds. */
export const SLOW_SCRIPT_US = 50;

/** Reads the server's own counters, over a connection of the benchmark's. */
export class RedisProbe {
  /** @param {number} port */
  constructor(port) {
    this.port = port;
    // RESP2: MONITOR's lines are no replies, and the older protocol is the one they were made for.
    this.client = new Redis({ host: '127.0.0.1', port, protocol: 2 });
  }

  /**
   * CPU time that the server has used, in microseconds.
   * @returns {Promise<number>}
   */
  async cpuUs() {
    const info = await this.client.info('cpu');
    const seconds = (field) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1]);
    return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
  }

  /**
   * How often each command has run so far, in scripts and out of them.
   * @returns {Promise<Map<string, number>>}
   */
  async calls() {
    const info = await this.client.info('commandstats');
    return new Map(
      [...info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].map(([, name, calls]) => [
        name,
        Number(calls),
      ]),
    );
  }

  /**
   * The time that scripts have run for so far, in microseconds.
   * @returns {Promise<number>}
   */
  async scriptsUs() {
    const info = await this.client.info('commandstats');
    const times = [...info.matchAll(/^cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/gm)];
    return times.reduce((sum, [, us]) => sum + Number(us), 0);
  }

  /**
   * The commands that `work` makes clients send, and those that their scripts call.
   * @param {() => Promise<void>} work
   * @returns {Promise<{ sent: Set<string>, called: Set<string> }>}
   */
  async watch(work) {
    const sent = new Set();
    const called = new Set();
    const monitor = await this.client.monitor();
    monitor.on('monitor', (_time, args, source) => {
      (source === 'lua' ? called : sent).add(String(args[0]).toLowerCase());
    });
    try {
      await work();
      // Lines come in order: what came before this mark has been seen with it.
      const marked = new Promise((resolve) => {
        monitor.on('monitor', (_time, args) => args[1] === 'doclock-bench-mark' && resolve());
      });
      await this.client.echo('doclock-bench-mark');
      await marked;
    } finally {
      monitor.disconnect();
    }
    return { sent, called };
  }

  /** From now on the server notes slow commands. */
  async startSlowLog() {
    await this.client.config('SET', 'slowlog-log-slower-than', SLOW_SCRIPT_US);
    await this.client.config('SET', 'slowlog-max-len', 100_000);
    await this.client.slowlog('RESET');
  }

  /**
   * What the server took long for, in microseconds by its wall clock, so being put off its core in the middle
   * counts. `scripts`: each slow one. `longestTrifle`: the longest of the commands that take it a microsecond or
   * two, which tells how long it was put off; 0 where none was longer than the slow log's threshold.
   */
  async slowUs() {
    const entries = (await this.client.slowlog('GET', -1)).map(([, , us, [command]]) => ({
      name: String(command).toLowerCase(),
      us: Number(us),
    }));
    const usOf = (isWanted) => entries.filter(({ name }) => isWanted(name)).map(({ us }) => us);
    return {
      scripts: usOf((name) => name.startsWith('eval')),
      longestTrifle: Math.max(0, ...usOf((name) => name === 'pttl')),
    };
  }

  /** The server as it was before the first case. */
  async flush() {
    await this.client.flushall();
  }

  close() {
    this.client.disconnect();
  }
}
