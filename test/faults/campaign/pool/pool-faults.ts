import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { fingerprintOf } from '../../../../src/key-pool/index.js';
import { cutQuestions } from '../cut-questions.js';
import type { Fault } from '../fault.js';
import type { Journal } from '../journal.js';
import type { Replica } from '../replica.js';
import type { SeededRandom } from '../seeded-random.js';
import type { ModelServer } from './model-server.js';
import { poolAt, readmitAt } from './pool-view.js';

/** How long the pool leases a key to a process that says nothing more, in ms. */
export const KEY_LEASE_MS = 15_000;

const POOL = '{lock:pool:llm}:permits';
const HOLDERS = `${POOL}:holders`;
/** Who holds what is kept under the first two, and the others are no rights: none costs a holder his key. */
const PARTS = [POOL, HOLDERS, `${POOL}:fence`, `${POOL}:waiters`, `${POOL}:room`];

/** How long to look for something that a fault is to meet. */
const LOOK_MS = 10_000;
/** Whoever had a key before it was put out of use has sent his request by then. */
const LATE_MS = 3_000;
const REPAIR_MS = 60_000;
const KILLS = 3;

/** What can go wrong with keys, beside what can go wrong with any lock. */
export function poolFaults(model: ModelServer, keys: readonly string[], redisUrl: string): Fault[] {
  return [
    {
      kind: 'kill -9 with keys leased',
      domain: 'replica',
      async inject({ replicas }, random) {
        const victim = await holder(model, replicas, random);
        await victim.restart('SIGKILL', random.whole(0, 1_000));
      },
    },
    {
      kind: 'kill -9 between answer and record',
      domain: 'replica',
      async inject({ replicas }, random, journal) {
        for (let tries = 1; tries <= KILLS; tries += 1) {
          const answered = await Promise.race([model.nextAnswered(), delay(LOOK_MS)]);
          const victim = replicas.find(({ name }) => name === answered?.replica);
          await (victim ?? random.pick(replicas)).restart('SIGKILL', random.whole(0, 1_000));
          const cut = cutQuestions(journal).map(({ operation }) => operation.onceAsked);
          if (answered && cut.includes(answered.question)) return; // else it was faster
        }
      },
    },
    {
      kind: 'SIGSTOP beyond the lease of a key',
      domain: 'replica',
      async inject({ replicas }, random) {
        const victim = await holder(model, replicas, random);
        await victim.freeze(random.whole(KEY_LEASE_MS + 500, KEY_LEASE_MS + 2_000));
      },
    },
    {
      kind: 'clock skew of a replica',
      domain: 'replica',
      isPossible: ({ clocks }) => clocks.length > 0,
      async inject({ clocks }, random) {
        // It stays so for all that follows: from now on the clocks are apart.
        const ms = random.whole(500, 3_600_000) * (random.chance(0.5) ? 1 : -1);
        await random.pick(clocks).set(ms);
        await delay(random.whole(500, 3_000));
      },
    },
    {
      kind: 'DEL of one key of the pool after the other',
      domain: 'store',
      inject: (_world, random, journal) => deleteOneByOne(redisUrl, random, journal),
    },
    {
      kind: 'DEL of all keys of the pool',
      domain: 'store',
      async inject(_world, random, journal) {
        journal.loss('DEL of the pool', { losesLocks: true, losesFences: true });
        await ask(redisUrl, (redis) => redis.del(...PARTS));
        await delay(random.whole(500, 3_000)); // the forgotten go on, beside those who come
      },
    },
    {
      kind: 'a key is refused',
      domain: 'model',
      inject: ({ replicas }, random, journal) =>
        refuseForAWhile(model, random.pick(keys), replicas, random, journal),
    },
  ];
}

/** Somebody whose request is at the model; anybody where there is none. */
async function holder(
  model: ModelServer,
  replicas: readonly Replica[],
  random: SeededRandom,
): Promise<Replica> {
  let found: Replica | undefined;
  await holds(LOOK_MS, () => {
    const [request] = model.underWay;
    found = replicas.find(({ name }) => name === request?.replica);
    return found !== undefined;
  });
  return found ?? random.pick(replicas);
}

/**
 * When no earlier loss explains a key in too many hands any more. The next one goes only when what the last one
 * held is there again: to lose both at once is to lose the data.
 */
async function deleteOneByOne(url: string, random: SeededRandom, journal: Journal): Promise<void> {
  const lostAt = journal.losses.findLast(({ losesLocks }) => losesLocks)?.at ?? 0;
  await delay(Math.max(0, lostAt + KEY_LEASE_MS + LATE_MS - Date.now()));
  for (const part of random.shuffled([...PARTS, ...PARTS])) {
    if (part.endsWith(':room')) journal.loss(`DEL ${part}`, {});
    await ask(url, (redis) => redis.del(part));
    await delay(random.whole(50, 300));
    const isRestored = await holds(REPAIR_MS, () =>
      ask(url, async (redis) => (await redis.exists(POOL)) === (await redis.exists(HOLDERS))),
    );
    if (!isRestored) journal.violation(`nobody restored ${part}, which was deleted`);
  }
}

/** Through the proxy of a replica, which follows failovers; so more than one try may be needed. */
async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + REPAIR_MS; ;) {
    const redis = new Redis(url, { lazyConnect: true, retryStrategy: null, commandTimeout: 1_000 });
    redis.on('error', () => 'the command that is rejected tells it');
    try {
      await redis.connect();
      return await question(redis);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(100);
    } finally {
      redis.disconnect();
    }
  }
}

/** Refuses a key until it is out of use, looks whether it is left alone, and readmits it. */
async function refuseForAWhile(
  model: ModelServer,
  key: string,
  replicas: readonly Replica[],
  random: SeededRandom,
  journal: Journal,
): Promise<void> {
  const fingerprint = fingerprintOf(key);
  model.refused.add(key);
  const toldAt = Date.now();
  const isOut = await holds(LOOK_MS, async () => {
    const members = (await poolAt(random.pick(replicas)))?.members ?? [];
    return members.some((one) => one.fingerprint === fingerprint && one.state === 'quarantined');
  });
  if (isOut) await assertLeftAlone(model, key, toldAt, journal);
  model.refused.delete(key);
  const isBack = await holds(REPAIR_MS, () => readmitAt(random.pick(replicas), fingerprint));
  if (!isBack) journal.violation(`the key ${fingerprint} could not be readmitted`);
}

async function assertLeftAlone(
  model: ModelServer,
  key: string,
  toldAt: number,
  journal: Journal,
): Promise<void> {
  await delay(LATE_MS);
  const from = Date.now();
  await delay(LATE_MS);
  // Redis may have forgotten it; and who was frozen in between may send what he had a key for.
  if (journal.losses.some(({ at }) => at >= toldAt)) return;
  const users = model.requests.filter(
    (one) =>
      one.key === key && one.receivedAt > from && !journal.wasOut(one.replica, toldAt, Date.now()),
  );
  for (const { replica } of users) {
    journal.violation(`${replica} used the key ${fingerprintOf(key)}, which was out of use`);
  }
}

/** Looks until it is so; false where it was not in time. */
export async function holds(
  withinMs: number,
  probe: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (!(await probe())) {
    if (Date.now() > deadline) return false;
    await delay(50);
  }
  return true;
}
