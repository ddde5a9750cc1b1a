import { setTimeout as delay } from 'node:timers/promises';
import { Journal, type Operation } from './journal.js';
import { textDocument } from './library.js';
import { Requests } from './requests.js';
import { SeededRandom } from './seeded-random.js';
import { type Observations, World } from './world.js';

/** How much is asked for. */
export interface LoadOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly database: 'postgres' | 'sqlite';
  readonly replicas: number;
  /** Process requests under way at any time. */
  readonly concurrency: number;
  readonly documents: number;
  readonly say?: (line: string) => void;
}

/** What came of it. */
export interface LoadReport {
  readonly seconds: number;
  readonly perSecond: number;
  readonly answers: Readonly<Record<string, number>>;
  /** Of the answers, in ms. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Memory in bytes, the delay of the event loop in ms. */
  readonly replicas: Readonly<Record<string, Observations>>;
  /** By how much the replicas' memory was higher at the end than after the first half, the worst of them. */
  readonly growth: number;
  readonly violations: readonly string[];
}

/** A replica with its model takes about 210 MB; requests and their answers must not add up. */
const MOST_MEMORY_BYTES = 700 * 2 ** 20;
const MOST_GROWTH = 0.35;
/** 99 of 100 turns, on a machine whose cores everything here shares. */
const MOST_LOOP_DELAY_MS = 1_000;

/**
 * Many process requests at once, while documents change: nothing may be answered with a 5xx, and the
 * replicas' memory and event loops stay within bounds. Nothing is broken on purpose.
 */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { seed, durationMs, database, replicas, concurrency, say = () => undefined } = options;
  const journal = new Journal();
  // The service's own settings, not those that make faults show quickly.
  const env = {
    LOCK_TTL_MS: '30000',
    LOCK_COMMAND_TIMEOUT_MS: '1000',
    DEMO_STEP_DELAY_MS: '0',
    ARCHIVE_CRON: '0 0 3 * * *',
  };
  const world = await World.start(
    { store: 'redis', database, replicas, env, direct: true },
    journal,
  );
  try {
    const requests = new Requests(journal, () => undefined);
    const library = Array.from({ length: options.documents }, (_, index) =>
      textDocument(`load-${index + 1}`),
    );
    const random = new SeededRandom(seed, 'load');
    const upload = (document: (typeof library)[number], version: number) =>
      requests.send({ kind: 'upload', document, replica: random.pick(world.replicas), version });
    say(`uploading and processing ${library.length} documents`);
    const waiting = [...library];
    const prepare = async (replica: (typeof world.replicas)[number]) => {
      for (let document = waiting.pop(); document; document = waiting.pop()) {
        await upload(document, 1);
        await requests.send({ kind: 'process', document, replica });
      }
    };
    await Promise.all(world.replicas.map(prepare));
    journal.operations.length = 0;
    say(`${concurrency} requests at once for ${durationMs / 1_000} s`);
    const startedAt = Date.now();
    const isOver = () => Date.now() - startedAt > durationMs;
    const client = async () => {
      while (!isOver()) {
        const document = random.pick(library);
        await requests.send({ kind: 'process', document, replica: random.pick(world.replicas) });
      }
    };
    const editor = async () => {
      for (let version = 2; !isOver(); version += 1) {
        await upload(random.pick(library), version);
        await delay(50);
      }
    };
    const halfWay = delay(durationMs / 2).then(() => world.observations());
    await Promise.all([editor(), ...Array.from({ length: concurrency }, client)]);
    await delay(1_500); // the replicas speak once a second
    const [middle, end] = [await halfWay, await world.observations()];
    return sum(journal, (Date.now() - startedAt) / 1_000, middle, end);
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

function sum(
  journal: Journal,
  seconds: number,
  middle: Readonly<Record<string, Observations>>,
  end: Readonly<Record<string, Observations>>,
): LoadReport {
  const asked = journal.operations.filter(({ kind }) => kind === 'process');
  const growth = Math.max(
    ...Object.keys(end).map((name) => end[name]!.maxRss / middle[name]!.maxRss - 1),
  );
  const failed = journal.operations.filter(({ status = 0 }) => status === 0 || status >= 500);
  if (failed.length > 0) {
    const [{ kind, status, code } = {}] = failed;
    journal.violation(`${failed.length} requests failed, ${kind} with ${status} ${code} first`);
  }
  for (const [name, { maxRss, loop }] of Object.entries(end)) {
    if (maxRss > MOST_MEMORY_BYTES) journal.violation(`${name} grew to ${maxRss} bytes`);
    if (loop.p99 > MOST_LOOP_DELAY_MS) {
      journal.violation(`the event loop of ${name} was late by ${loop.p99} ms in one of 100 turns`);
    }
  }
  if (growth > MOST_GROWTH) journal.violation(`memory still grew by ${growth} in the second half`);
  return {
    seconds,
    perSecond: asked.length / seconds,
    answers: counts(asked),
    latency: latencyOf(asked),
    replicas: end,
    growth,
    violations: journal.violations,
  };
}

function counts(operations: readonly Operation[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { status, code } of operations) {
    const answer = [status ?? 'none', code ?? 'ok'].join(' ');
    found[answer] = (found[answer] ?? 0) + 1;
  }
  return found;
}

function latencyOf(operations: readonly Operation[]): LoadReport['latency'] {
  const took = operations.map(({ sentAt, endedAt }) => endedAt - sentAt).toSorted((a, b) => a - b);
  const at = (part: number) => took[Math.floor((took.length - 1) * part)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
