import { Redis } from 'ioredis';
import type { Journal } from '../journal.js';
import type { Replica } from '../replica.js';
import type { ModelServer } from './model-server.js';
import { holds } from './pool-faults.js';
import { poolAt, readmitAt } from './pool-view.js';
import type { Questions } from './questions.js';

const SETTLE_MS = 90_000;
const CALLERS = 30;

/**
 * When nothing is broken any more: every key is free, seen from every replica, and everybody who asks at once is
 * served. Then every key is free again, and nobody is in the line.
 */
export async function poolWorks(
  replicas: readonly Replica[],
  model: ModelServer,
  questions: Questions,
  journal: Journal,
): Promise<void> {
  model.isCalm = true;
  await readmitAll(replicas, journal);
  await everyKeyIsFree(replicas, journal, 'after the faults');
  const answers = await Promise.all(
    Array.from({ length: CALLERS }, (_, n) => questions.askNew(replicas[n % replicas.length]!)),
  );
  for (const { status, code, replica } of answers) {
    if (status === 201) continue;
    journal.violation(
      `in the end a question at ${replica} is answered ${status} ${code}, however often`,
    );
  }
  await everyKeyIsFree(replicas, journal, 'in the end');
}

/** The room remembers what was told of members for so long, a day for a clock step included; in ms. */
const LONGEST_KEY_MS = 41 * 86_400_000;

/** Who holds and who waits is gone with the last of them, and nothing stays for ever. */
export async function poolLeavesNothing(redisUrl: string, journal: Journal): Promise<void> {
  const client = new Redis(redisUrl, { retryStrategy: () => 100, disconnectTimeout: 100 });
  try {
    for (const key of await client.keys('{lock:pool:*')) {
      const leftMs = await client.pttl(key);
      const isOver = leftMs === -2; // it has gone meanwhile
      if (isOver) continue;
      if (leftMs === -1 || leftMs > LONGEST_KEY_MS) journal.violation(`${key} lives ${leftMs} ms`);
      if (/:permits(?::holders|:waiters)?$/.test(key)) journal.violation(`${key} was left behind`);
    }
  } finally {
    client.disconnect();
  }
}

/** A 401 that a frozen replica heard late may have put a key out of use after it was readmitted. */
async function readmitAll(replicas: readonly Replica[], journal: Journal): Promise<void> {
  const areIn = await holds(SETTLE_MS, async () => {
    const [replica] = replicas as [Replica];
    const out = (await poolAt(replica))?.members.filter(({ state }) => state === 'quarantined');
    for (const { fingerprint } of out ?? []) await readmitAt(replica, fingerprint);
    return out?.length === 0;
  });
  if (!areIn) journal.violation('not every key could be readmitted in the end');
}

async function everyKeyIsFree(
  replicas: readonly Replica[],
  journal: Journal,
  when: string,
): Promise<void> {
  await Promise.all(
    replicas.map(async (replica) => {
      let shown = 'nothing';
      const isSo = await holds(SETTLE_MS, async () => {
        const pool = await poolAt(replica);
        shown = JSON.stringify(pool);
        return pool?.queued === 0 && pool.members.every(({ state }) => state === 'free');
      });
      if (!isSo) journal.violation(`${when} ${replica.name} shows of the pool: ${shown}`);
    }),
  );
}
