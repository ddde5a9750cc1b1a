import { storeFault } from '../fault.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';
import { leftoversOn, locksOn } from './redis-keys.js';
import { redisPairFaults } from './redis-pair-faults.js';
import { RedisPair } from './redis-pair.js';

/** LOCK_STORE=redis on one primary. What its standby has not seen is lost with the primary. */
export const startRedisWorld: StartStore = async (terms) => {
  const pair = await RedisPair.start(terms);
  return {
    settings: (replica) => ({ REDIS_URL: pair.urlFor(replica) }),
    links: pair.links,
    faults: [
      ...redisPairFaults(pair),
      storeFault('failover with loss', (random, journal) =>
        pair.failOverCutOff(random.whole(300, 2_000), random.whole(0, 1_500), () =>
          journal.loss('failover with loss', { losesLocks: true, losesFences: true }),
        ),
      ),
    ],
    longestLifeMs: TTL_MS,
    locks: () => locksOn([pair.server]),
    leftovers: () => leftoversOn([pair.server]),
  };
};
