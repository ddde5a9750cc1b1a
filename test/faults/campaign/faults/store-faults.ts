import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { TTL_MS } from '../timing.js';

const always = () => true;
const lost = { losesLocks: true, losesFences: true };

/** What goes wrong on the lock store itself. */
export const storeFaults: readonly Fault[] = [
  {
    kind: 'freeze of Redis',
    domain: 'store',
    isPossible: always,
    inject: ({ redis }, random) => redis.freeze(random.whole(500, 2 * TTL_MS)),
  },
  {
    kind: 'restart without persistence',
    domain: 'store',
    isPossible: always,
    inject: ({ redis }, random) => redis.restartEmpty(random.whole(0, 2_500)),
  },
  {
    kind: 'failover without loss',
    domain: 'store',
    isPossible: always,
    inject: ({ redis }) => redis.failOver(),
  },
  {
    kind: 'failover with loss',
    domain: 'store',
    isPossible: always,
    inject: ({ redis }, random) =>
      redis.failOverWithLoss(random.whole(300, 2_000), random.whole(0, 1_500)),
  },
  {
    kind: 'FLUSHALL',
    domain: 'store',
    isPossible: always,
    async inject({ redis }, random, journal) {
      for (let times = random.whole(1, 4); times > 0; times -= 1) {
        journal.loss('FLUSHALL', lost);
        await redis.command('FLUSHALL');
        await delay(random.whole(50, 600));
      }
    },
  },
  {
    kind: 'SCRIPT FLUSH',
    domain: 'store',
    isPossible: always,
    async inject({ redis }, random) {
      for (let times = random.whole(2, 8); times > 0; times -= 1) {
        await redis.command('SCRIPT', 'FLUSH');
        await delay(random.whole(20, 300));
      }
    },
  },
  {
    kind: 'CLIENT KILL',
    domain: 'store',
    isPossible: always,
    async inject({ redis }, random) {
      for (let times = random.whole(1, 6); times > 0; times -= 1) {
        await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await delay(random.whole(50, 500));
      }
    },
  },
  {
    kind: 'maxmemory reached',
    domain: 'store',
    isPossible: always,
    async inject({ redis }, random) {
      await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
      await delay(random.whole(500, 2 * TTL_MS));
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    },
  },
  {
    kind: 'clock step of the server',
    domain: 'store',
    isPossible: ({ redis }) => redis.clock !== undefined,
    async inject({ redis }, random) {
      const ms = random.whole(1_000, 12_000) * (random.chance(0.5) ? 1 : -1);
      await redis.stepClock(ms);
      await delay(random.whole(500, TTL_MS));
      await redis.stepClock(-ms);
    },
  },
];
