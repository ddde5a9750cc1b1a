import { storeFault } from '../fault.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';
import { leftoversOn, locksOn } from './redis-keys.js';
import { redisPairFaults } from './redis-pair-faults.js';
import { RedisPair } from './redis-pair.js';

/** LOCK_STORE=redis-wait: the standby has every lock that was granted, so that its promotion loses none. */
export const startRedisWaitWorld: StartStore = async (terms) => {
  const pair = await RedisPair.start(terms);
  return {
    settings: (replica) => ({
      LOCK_STORE: 'redis-wait',
      REDIS_URL: pair.urlFor(replica),
      REDIS_WAIT_REPLICAS: '1',
    }),
    links: pair.links,
    faults: [
      ...redisPairFaults(pair),
      storeFault('standby killed', (random) => pair.killStandby(random.whole(300, 2 * TTL_MS))),
      storeFault('standby frozen', (random) => pair.freezeStandby(random.whole(300, 2 * TTL_MS))),
      storeFault('partition, then promotion', (random) =>
        pair.failOverCutOff(random.whole(300, 2_000), random.whole(0, 1_500)),
      ),
    ],
    longestLifeMs: TTL_MS,
    locks: () => locksOn([pair.server]),
    leftovers: () => leftoversOn([pair.server]),
  };
};
