import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { Database } from '../../src/database/index.js';
import { buildClockShift } from '../support/clock-shift.js';
import { conversationIds, seedConversations } from '../support/conversations.js';
import { DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { type ServiceEnv, ServiceProcess } from '../support/service-process.js';
import { expectEverySecondOnce, scheduledTicks } from '../support/tick-rows.js';

interface TickBody {
  readonly scheduledAt: string | null;
  readonly outcome: string;
  readonly replica: string;
  readonly fence: string | null;
}

// Real processes that share the machine with the other tests.
jest.setTimeout(60_000);

const everySecond = '* * * * * *';
const clockShift = await buildClockShift();

let redis: RedisServer;
let keys: Redis;
let dataDir: string;
let database: Database;
let replicas: Map<string, ServiceProcess>;

/** One Redis and one data folder for the replicas of a describe block. */
function sharedGround(start: () => Promise<unknown>): void {
  beforeAll(async () => {
    redis = await startRedis();
    keys = new Redis(redis.url);
    dataDir = await mkdtemp(join(tmpdir(), 'archive-'));
    database = await Database.open({ dataDir });
    replicas = new Map();
    await start();
  });
  afterAll(async () => {
    await Promise.all([...replicas.values()].map((replica) => replica.stop()));
    await database.close();
    keys.disconnect();
    await redis.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
}

async function startReplica(name: string, env: ServiceEnv = {}): Promise<ServiceProcess> {
  const replica = await ServiceProcess.start({
    INSTANCE_ID: name,
    REDIS_URL: redis.url,
    DATA_DIR: dataDir,
    EMBED_WORKERS: '1',
    LOCK_TTL_MS: '2000',
    ARCHIVE_CRON: everySecond,
    ARCHIVE_AFTER_DAYS: '1',
    ...env,
  });
  replicas.set(name, replica);
  return replica;
}

const client = (name: string) => new DocumentsClient(replicas.get(name)!);
const survivor = () => client([...replicas.keys()][0]!);

/** Waits until `count` more instants have been run. */
async function moreRuns(count: number): Promise<void> {
  const before = (await expectEverySecondOnce(database)).length;
  await eventually(
    async () => {
      const ticks = await scheduledTicks(database);
      return ticks.filter(({ outcome }) => outcome === 'ran').length >= before + count;
    },
    { what: `${count} more ticks`, timeoutMs: 20_000, everyMs: 100 },
  );
}

/** Waits until a scheduled run has archived a batch and goes on. Gives the one who runs it. */
function inTheMiddle(): Promise<{ name: string; fence: bigint }> {
  return eventually(
    async () => {
      const last = await keys.get('{lock:job:archive}:fence'); // the dead stay `running` in the log
      const running = (await scheduledTicks(database)).find(
        (tick) => tick.outcome === 'running' && String(tick.fence) === last,
      );
      if (!running?.fence) return false;
      const { fence, replica: name } = running;
      const archives = await database.kysely
        .selectFrom('archives')
        .select('id')
        .where('fence', '=', fence)
        .execute();
      return archives.length > 0 && { name, fence };
    },
    { what: 'a run in its middle', timeoutMs: 20_000 },
  );
}

/** Waits until all conversations are archived, and looks whether each is there once. */
async function allArchivedOnce(ids: readonly string[]): Promise<void> {
  await eventually(async () => (await conversationIds(database)).live.length === 0, {
    what: 'the last conversation to be archived',
    timeoutMs: 20_000,
    everyMs: 100,
  });
  expect((await conversationIds(database)).archived.toSorted()).toEqual(ids.toSorted());
}

describe('the archiver on three replicas', () => {
  const ids: string[] = [];
  const seed = async (count: number) => {
    ids.push(...(await seedConversations(database, count, 2)));
  };

  sharedGround(async () => {
    const slow = { DEMO_STEP_DELAY_MS: '100' };
    await Promise.all([
      startReplica('replica-1', slow),
      startReplica('replica-2', slow),
      // As while a change of the expression is rolled out.
      startReplica('replica-3', { ...slow, ARCHIVE_CRON: '*/2 * * * * *' }),
    ]);
  });

  it('runs every instant once, by the one who holds the lock', async () => {
    const holders = new Map<string, string>();
    let watching = true;
    const watch = (async () => {
      while (watching) {
        const [token, fence] = await keys.mget('lock:job:archive', '{lock:job:archive}:fence');
        if (token && fence) holders.set(fence, token.split('.')[2]!);
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
    })();
    await moreRuns(5);
    watching = false;
    await watch;
    const runs = await expectEverySecondOnce(database);
    const seen = runs.filter(({ fence }) => holders.has(String(fence)));
    expect(seen.length).toBeGreaterThanOrEqual(4);
    for (const { fence, replica } of seen) expect(holders.get(String(fence))).toBe(replica);
    const outcomes = new Set((await scheduledTicks(database)).map(({ outcome }) => outcome));
    expect([...outcomes].some((outcome) => outcome.startsWith('skipped-'))).toBe(true);
    expect([...outcomes].filter((outcome) => /failed|fault|unavailable/.test(outcome))).toEqual([]);
  });

  it('runs by hand in between, which takes no instant from the schedule', async () => {
    await seed(30);
    const answers = await eventually(
      async () => {
        const answer = await client('replica-2').send('/archive/run', { method: 'POST' });
        expect([200, 423]).toContain(answer.status);
        return answer.status === 200 && answer;
      },
      { what: 'a run by hand between two ticks', timeoutMs: 20_000 },
    );
    expect(answers.body).toMatchObject({ complete: true });
    const { body } = await client('replica-1').send<{ items: TickBody[] }>('/archive/ticks');
    expect(body.items.filter(({ scheduledAt }) => scheduledAt === null)).toMatchObject([
      { outcome: 'ran', replica: 'replica-2' },
    ]);
    await moreRuns(2);
    await expectEverySecondOnce(database);
    await allArchivedOnce(ids);
  });

  it('runs no instant twice when an event loop was blocked over it', async () => {
    const blocked = replicas.get('replica-1')!;
    blocked.pause();
    await moreRuns(2);
    blocked.resume();
    await moreRuns(2);
    await expectEverySecondOnce(database);
  });

  it('loses nothing when the one who runs is killed, and goes on with a new fence', async () => {
    await seed(800);
    const { name, fence } = await inTheMiddle();
    await replicas.get(name)!.kill('SIGKILL');
    replicas.delete(name);
    await allArchivedOnce(ids);
    await moreRuns(1);
    const runs = await expectEverySecondOnce(database);
    expect(runs.at(-1)!.fence!).toBeGreaterThan(fence);
    const { body } = await survivor().send<{ items: TickBody[] }>('/archive/ticks?limit=200');
    const dead = body.items.find((tick) => tick.fence === String(fence));
    expect(dead).toMatchObject({ outcome: 'interrupted', replica: name });
  });

  it('lets a replica that is told to stop end its batch and give the lock back', async () => {
    await startReplica('replica-4', { DEMO_STEP_DELAY_MS: '100' });
    await seed(1_500);
    const { name, fence } = await inTheMiddle();
    const leaving = replicas.get(name)!;
    const toldAt = performance.now();
    expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - toldAt).toBeLessThan(4_000);
    replicas.delete(name);
    const token = await keys.get('lock:job:archive');
    expect(token?.split('.')[2]).not.toBe(name);
    const left = (await scheduledTicks(database)).find((tick) => tick.fence === fence);
    expect(left).toMatchObject({
      outcome: 'ran',
      detail: expect.stringContaining('stopped early'),
    });
    await allArchivedOnce(ids);
    await expectEverySecondOnce(database);
  });
});

describe('an archiver that outlives the grace of its shutdown', () => {
  sharedGround(() =>
    startReplica('slow', { DEMO_STEP_DELAY_MS: '20000', SHUTDOWN_GRACE_MS: '300' }),
  );

  it('is aborted, says so, and leaves no lock', async () => {
    const running = await eventually(async () =>
      (await scheduledTicks(database)).find(({ outcome }) => outcome === 'running'),
    );
    expect(await keys.exists('lock:job:archive')).toBe(1);
    const toldAt = performance.now();
    expect(await replicas.get('slow')!.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - toldAt).toBeLessThan(3_000);
    expect(await keys.exists('lock:job:archive')).toBe(0);
    const ended = (await scheduledTicks(database)).find(({ fence }) => fence === running.fence);
    expect(ended).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('shutting down'),
    });
  });
});

const withClocks = typeof clockShift === 'string' ? describe.skip : describe;
if (typeof clockShift === 'string') process.stderr.write(`Skipped: ${clockShift}.\n`);

withClocks('replicas whose clocks are apart', () => {
  const clocks = clockShift as Exclude<typeof clockShift, string>;

  sharedGround(() =>
    Promise.all([
      startReplica('exact'),
      startReplica('ahead', clocks.env(2_500)),
      startReplica('behind', clocks.env(-1_800)),
    ]),
  );

  afterAll(async () => {
    await clocks[Symbol.asyncDispose]();
  });

  it('run every instant once when it is seconds', async () => {
    await moreRuns(5);
    const runs = await expectEverySecondOnce(database);
    // The first to get there takes it; the others come too late, seconds later.
    expect(runs.at(-1)!.replica).toBe('ahead');
    const ticks = await scheduledTicks(database);
    const late = ticks.filter(({ outcome }) => outcome === 'skipped-done');
    expect(new Set(late.map(({ replica }) => replica))).toEqual(new Set(['exact', 'behind']));
  });

  it('report the one that is a day ahead, whose instants run by nobody but in their time', async () => {
    await startReplica('tomorrow', clocks.env(86_400_000));
    const fault = await eventually(
      async () =>
        (await scheduledTicks(database)).find(
          ({ replica, outcome }) => replica === 'tomorrow' && outcome !== 'skipped-held',
        ),
      { what: 'a tick of the replica whose clock is wrong', timeoutMs: 20_000 },
    );
    expect(fault).toMatchObject({
      outcome: 'clock-fault',
      detail: expect.stringMatching(/^8[6-7]\d{6} ms ahead/),
    });
    expect(replicas.get('tomorrow')!.output).toMatch(
      /The clock of this machine, or the store's, is wrong/,
    );
    await moreRuns(2);
    const runs = await expectEverySecondOnce(database);
    expect(runs.filter(({ replica }) => replica === 'tomorrow')).toEqual([]);
  });
});
