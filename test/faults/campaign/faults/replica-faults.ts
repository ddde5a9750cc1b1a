import { setTimeout as delay } from 'node:timers/promises';
import { type Domain, type Fault, processPause } from '../fault.js';
import type { Journal, Operation } from '../journal.js';
import type { Replica } from '../replica.js';
import type { SeededRandom } from '../seeded-random.js';
import { TTL_MS } from '../timing.js';

const domain: Domain = 'replica';

/** How long an answer takes, about; and how long to wait for somebody who asks. */
const QUESTION_MS = 40;
const LOOK_MS = 10_000;

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
  {
    kind: 'kill -9 in a keyed question',
    domain,
    async inject({ replicas }, random, journal) {
      const asked = await questionUnderWay(journal);
      const victim = replicas.find(({ name }) => name === asked?.replica);
      await delay(random.whole(0, QUESTION_MS)); // before its work, in it, or after its record
      await (victim ?? random.pick(replicas)).restart('SIGKILL', random.whole(0, 1_000));
    },
  },
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

/** A question with an Idempotency-Key as soon as there is one; undefined where there is none for long. */
async function questionUnderWay(
  journal: Journal,
): Promise<Pick<Operation, 'kind' | 'replica'> | undefined> {
  const deadline = Date.now() + LOOK_MS;
  for (;;) {
    const asked = [...journal.underWay].find(({ kind }) => kind === 'ask-once');
    if (asked || Date.now() > deadline) return asked;
    await delay(2);
  }
}
