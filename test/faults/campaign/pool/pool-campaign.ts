import { BrokenPromises } from '../../checker/broken-promises.js';
import { nothingIsLostOrDoubled } from '../aftermath.js';
import { cutQuestions } from '../cut-questions.js';
import { networkFaults } from '../faults/network-faults.js';
import { Journal } from '../journal.js';
import { textDocument } from '../library.js';
import { Nemesis } from '../nemesis.js';
import { answersOf } from '../report.js';
import { Requests } from '../requests.js';
import { SeededRandom } from '../seeded-random.js';
import type { Testimony } from '../testimony.js';
import { World } from '../world.js';
import { checkKeys, type KeyFindings } from './key-rule.js';
import { ModelServer } from './model-server.js';
import { poolLeavesNothing, poolWorks } from './pool-aftermath.js';
import { KEY_LEASE_MS, poolFaults } from './pool-faults.js';
import { cutAfterAnswer, leasedUses, provenUses } from './proven-uses.js';
import { Questions } from './questions.js';

/** What a campaign about the key pool does. */
export interface PoolCampaignOptions {
  /** Decides the faults and the requests; what comes of them is not repeatable. */
  readonly seed: number;
  /** How long things are broken, in ms; absent: until each fault that concerns keys most has been once. */
  readonly durationMs?: number | undefined;
  readonly replicas: number;
  /**
   * Of a key, as the replicas know it in turn: while a change is rolled out they differ, and the larger number is
   * the limit.
   * @default [1]
   */
  readonly concurrency?: readonly number[];
  /** How many questions are under way at once; some are sent to two replicas. */
  readonly clients: number;
  readonly say?: (line: string) => void;
}

/** What came of it. */
export interface PoolReport {
  readonly seed: number;
  readonly seconds: number;
  /** How often each kind was done. */
  readonly injected: Readonly<Record<string, number>>;
  readonly operations: Readonly<Record<string, number>>;
  /** Requests to the model, and those of them that are proven to have been made under a lease. */
  readonly requests: { readonly all: number; readonly proven: number };
  /** By what the replicas' engines believed. */
  readonly leases: number;
  readonly mostAtOnce: number;
  /** Uses too many after the store had lost what it knew. */
  readonly excused: number;
  /** Questions that a kill -9 cut; `answered`: after the model's answer, and before that of the service. */
  readonly cutQuestions: { readonly all: number; readonly answered: number };
  readonly skipped: readonly string[];
  /** Must be empty. */
  readonly violations: readonly string[];
}

/** Fewer than are wanted at once. */
const KEYS = ['sk-campaign-one', 'sk-campaign-two'];

/** What goes wrong with Redis and concerns keys most, beside the pool's own faults. */
const losses = ['FLUSHALL', 'restart without persistence'];

/** The settings of the service for such a campaign, as far as they are the same for all replicas. */
const settings = {
  LLM_API_KEYS: KEYS.join(','),
  LLM_CHAT_MODEL: 'small',
  LLM_WAIT_MS: String(KEY_LEASE_MS + 1_000),
  LLM_TIMEOUT_MS: '4000',
  DEMO_STEP_DELAY_MS: '0',
  ARCHIVE_CRON: '0 0 3 * * *',
};

/**
 * Real replicas on a real Redis ask a language model over real HTTP, with the keys of one pool, while one thing
 * after the other is broken. Then it looks whether a key was used by too many at once, whether everybody was
 * served, whether a question with one Idempotency-Key was recorded twice, and what was left behind.
 * @throws when the campaign itself does not work; what the service does wrong is in the report
 */
export async function runPoolCampaign(options: PoolCampaignOptions): Promise<PoolReport> {
  const { seed, durationMs, replicas, concurrency = [1], clients, say } = options;
  const startedAt = Date.now();
  const journal = new Journal(say);
  await using model = await ModelServer.start(new SeededRandom(seed, 'model'));
  const envOf = (replica: number) => ({
    LLM_BASE_URL: model.addressFor(`replica-${replica + 1}`),
    LLM_KEY_CONCURRENCY: String(concurrency[replica % concurrency.length]),
  });
  const world = await World.start(
    { store: 'redis', database: 'postgres', replicas, env: settings, envOf },
    journal,
  );
  try {
    const requests = new Requests(journal);
    const document = textDocument('facts');
    for (const kind of ['upload', 'process'] as const) {
      await requests.send({ kind, document, replica: world.replicas[0]!, version: 1 });
    }
    const questions = new Questions(seed, clients, world.replicas, document, requests);
    const { REDIS_URL = '' } = world.store.settings(0);
    const own = poolFaults(model, KEYS, REDIS_URL);
    const faults = [...own, ...world.store.faults, ...networkFaults].filter(
      (fault) => fault.isPossible?.(world) ?? true,
    );
    const random = new SeededRandom(seed, 'nemesis');
    const nemesis = new Nemesis(world, random, requests, journal, faults);
    try {
      if (durationMs === undefined) {
        await nemesis.breakEach((fault) => own.includes(fault) || losses.includes(fault.kind));
      } else await nemesis.run(Date.now() + durationMs);
    } finally {
      await questions.stop();
    }
    say?.('repaired; looking at what it has come to');
    await poolWorks(world.replicas, model, questions, journal);
    await poolLeavesNothing(REDIS_URL, journal);
    await nothingIsLostOrDoubled(world, journal);
    const limit = Math.max(...concurrency);
    return sum({ seed, startedAt, limit }, model, await world.testimony(), journal);
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

function sum(
  run: { readonly seed: number; readonly startedAt: number; readonly limit: number },
  model: ModelServer,
  testimony: readonly Testimony[],
  journal: Journal,
): PoolReport {
  const broken = new BrokenPromises(
    journal.losses.map((loss) => ({ kind: 'fault' as const, ...loss })),
  );
  const leases = leasedUses(testimony);
  const proven = provenUses(model.requests, journal);
  const findings: KeyFindings[] = [leases, proven].map((uses) =>
    checkKeys(uses, run.limit, KEY_LEASE_MS, broken),
  );
  for (const what of findings.flatMap(({ violations }) => violations)) journal.violation(what);
  const cut = cutQuestions(journal);
  const injected: Record<string, number> = {};
  for (const { kind } of journal.faults) injected[kind] = (injected[kind] ?? 0) + 1;
  return {
    seed: run.seed,
    seconds: Math.round((Date.now() - run.startedAt) / 1_000),
    injected,
    operations: answersOf(journal),
    requests: { all: model.requests.length, proven: proven.length },
    leases: leases.length,
    mostAtOnce: Math.max(...findings.map(({ mostAtOnce }) => mostAtOnce)),
    excused: findings.reduce((total, { excused }) => total + excused, 0),
    cutQuestions: { all: cut.length, answered: cutAfterAnswer(model.requests, cut).length },
    skipped: journal.skipped,
    violations: journal.violations,
  };
}
