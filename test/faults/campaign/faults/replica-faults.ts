import { setTimeout as delay } from 'node:timers/promises';
import { type Domain, type Fault, processPause } from '../fault.js';
import type { Replica } from '../replica.js';
import type { SeededRandom } from '../seeded-random.js';
import { TTL_MS } from '../timing.js';

const domain: Domain = 'replica';

function onReplica(
  kind: string,
  harm: (replica: Replica, random: SeededRandom) => Promise<void>,
): Fault {
  return {
    kind,
    domain,
    inject: ({ replicas }, random) => harm(random.pick(replicas), random),
  };
}

/** What goes wrong in a replica of the service. */
export const replicaFaults: readonly Fault[] = [
  onReplica('kill -9', (replica, random) => replica.restart('SIGKILL', random.whole(0, 1_000))),
  onReplica('SIGTERM', (replica, random) => replica.restart('SIGTERM', random.whole(0, 500))),
  processPause('SIGSTOP beyond the TTL', TTL_MS),
  onReplica('blocked event loop', (replica) => replica.blockLoop()),
  onReplica('worker crash', async (replica, random) => {
    for (let times = random.whole(1, 4); times > 0; times -= 1) {
      replica.crashWorkers();
      await delay(random.whole(100, 1_000));
    }
  }),
  {
    kind: 'clock step of a replica',
    domain,
    isPossible: ({ clocks }) => clocks.length > 0,
    async inject({ clocks }, random) {
      const clock = random.pick(clocks);
      await clock.set(random.whole(500, 20_000) * (random.chance(0.5) ? 1 : -1));
      await delay(random.whole(500, 2 * TTL_MS));
      await clock.set(0);
    },
  },
];
