import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, storeFault } from '../fault.js';
import { TTL_MS } from '../timing.js';
import type { RedisPair } from './redis-pair.js';

const lost = { losesLocks: true, losesFences: true };

/** What goes wrong on one Redis primary with a standby, whatever the standby is for. */
export function redisPairFaults(pair: RedisPair): readonly Fault[] {
  return [
    storeFault('freeze of Redis', (random) => pair.freeze(random.whole(500, 2 * TTL_MS))),
    storeFault('restart without persistence', (random) =>
      pair.restartEmpty(random.whole(0, 2_500)),
    ),
    storeFault('failover without loss', () => pair.failOver()),
    storeFault('FLUSHALL', async (random, journal) => {
      for (let times = random.whole(1, 4); times > 0; times -= 1) {
        journal.loss('FLUSHALL', lost);
        await pair.command('FLUSHALL');
        await delay(random.whole(50, 600));
      }
    }),
    storeFault('SCRIPT FLUSH', async (random) => {
      for (let times = random.whole(2, 8); times > 0; times -= 1) {
        await pair.command('SCRIPT', 'FLUSH');
        await delay(random.whole(20, 300));
      }
    }),
    storeFault('CLIENT KILL', async (random) => {
      for (let times = random.whole(1, 6); times > 0; times -= 1) {
        await pair.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await pair.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await delay(random.whole(50, 500));
      }
    }),
    storeFault('maxmemory reached', async (random) => {
      await pair.command('CONFIG', 'SET', 'maxmemory', '1mb');
      await delay(random.whole(500, 2 * TTL_MS));
      await pair.command('CONFIG', 'SET', 'maxmemory', '0');
    }),
    {
      ...storeFault('clock step of the server', async (random) => {
        const ms = random.whole(1_000, 12_000) * (random.chance(0.5) ? 1 : -1);
        await pair.stepClock(ms);
        await delay(random.whole(500, TTL_MS));
        await pair.stepClock(-ms);
      }),
      isPossible: () => pair.clock !== undefined,
    },
  ];
}
