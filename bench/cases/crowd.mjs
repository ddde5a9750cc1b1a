import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../dist/lock/index.js';
import { pause } from '../lib/clock.mjs';
import { RedisProbe } from '../lib/redis-probe.mjs';
import { startRedis } from '../lib/redis-server.mjs';
import { quantile } from '../lib/statistics.mjs';

const main = fileURLToPath(new URL('../lib/crowd-main.mjs', import.meta.url));
const NODE_PROCESSES = 4;
const UNRELATED = 100;
const UNRELATED_TTL_MS = 5_000;
/** So that no renewal is among the looks. */
const LONG_TTL_MS = 3_600_000;
/** Until all stand in the queue, and until all have been granted the lock. */
const MOST_MS = 90_000;

/**
 * So many processes wait for one lock of one server (emulated: an engine each, over four Node processes): what a
 * look costs, what the server spends while nothing happens, how fast the lock changes hands, and how many of a
 * hundred leases that have nothing to do with it are lost meanwhile.
 * @param {{ processes: number, idleMs: number, handOvers: number }} options
 */
export async function measureCrowd({ processes, idleMs, handOvers }) {
  const redis = await startRedis();
  const probe = new RedisProbe(redis.port);
  const client = new Redis({ ...redisLockClientOptions, host: '127.0.0.1', port: redis.port });
  await once(client, 'ready');
  const store = new RedisLockStore({ client });
  const locks = new LockManager({ store });
  const children = [];
  let lost = 0;
  locks.events.on('lost', () => (lost += 1));
  try {
    const held = await locks.acquire('hot', { ttlMs: LONG_TTL_MS });
    for (let n = 0; n < NODE_PROCESSES; n += 1) {
      const share = Math.ceil((processes - n) / NODE_PROCESSES);
      if (share > 0) children.push(new Child(redis.port, share));
    }
    await until(async () => (await store.inspect('hot'))?.queued === processes, 'all to wait');
    await pause(1_000); // subscriptions
    const idle = await idleFigures(probe, idleMs);
    for (let n = 0; n < UNRELATED; n += 1) {
      await locks.acquire(`unrelated:${n}`, { ttlMs: UNRELATED_TTL_MS });
    }
    await pause(idleMs);
    await held.release();
    const wanted = Math.min(processes, handOvers);
    await until(
      async () => children.reduce((sum, { granted }) => sum + granted, 0) >= wanted,
      'all grants',
    );
    const turns = (await Promise.all(children.map((child) => child.turns()))).flat();
    turns.sort(([a], [b]) => a - b);
    const times = turns.slice(1).map(([grantedUs], n) => (grantedUs - turns[n][1]) / 1e3);
    return {
      processes,
      ...idle,
      commandsPerWaiter: idle.looksPerSecond / processes,
      handOverP50Ms: quantile(times, 0.5),
      handOverP95Ms: quantile(times, 0.95),
      handOvers: times.length,
      keptLeases: UNRELATED - lost,
      unrelated: UNRELATED,
      failed: children.reduce((sum, child) => sum + child.failed, 0),
    };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await locks.shutdown(0);
    await locks.close();
    client.disconnect();
    probe.close();
    await redis.stop();
  }
}

/** While somebody holds the lock and nobody lets go. */
async function idleFigures(probe, ms) {
  const looks = async () => {
    const info = await probe.client.info('commandstats');
    const [, calls = 0, us = 0] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(info) ?? [];
    return { calls: Number(calls), us: Number(us) };
  };
  const [before, cpuBefore] = [await looks(), await probe.cpuUs()];
  const start = performance.now();
  await pause(ms);
  const [after, cpuAfter] = [await looks(), await probe.cpuUs()];
  const seconds = (performance.now() - start) / 1e3;
  const calls = after.calls - before.calls;
  return {
    looksPerSecond: calls / seconds,
    lookUs: (after.us - before.us) / calls,
    serverPart: (cpuAfter - cpuBefore) / 1e6 / seconds,
  };
}

async function until(isThere, what) {
  const end = performance.now() + MOST_MS;
  while (!(await isThere())) {
    if (performance.now() > end) throw new Error(`Waited ${MOST_MS} ms for ${what} in vain.`);
    await pause(20);
  }
}

/** One Node process of the crowd. */
class Child {
  granted = 0;
  failed = 0;

  constructor(port, engines) {
    this.process = fork(main, [String(port), String(engines)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.process.on('message', ({ granted, failed }) => {
      if (granted === undefined) return;
      this.granted = granted;
      this.failed = failed;
    });
  }

  /** When each of its grants and releases was. */
  turns() {
    return new Promise((resolve) => {
      this.process.on('message', ({ turns }) => turns && resolve(turns));
      this.process.send('turns');
    });
  }

  async stop() {
    if (this.process.exitCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }
}
