/**
 * `npm run demo`: three replicas of the service as plain processes on one Redis and one data folder,
 * and what happens to a document when they compete, die, sleep and leave. Ends by itself after two
 * minutes at most; exit code 1 if anything was not as claimed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Processes } from './processes.mjs';
import { startRedis } from './redis-server.mjs';
import { Replica } from './replica.mjs';
import { cleanShutdown } from './scenes/clean-shutdown.mjs';
import { killedHolder } from './scenes/killed-holder.mjs';
import { lateWrite } from './scenes/late-write.mjs';
import { pausedHolder } from './scenes/paused-holder.mjs';
import { scheduledTicks, TICK_MS } from './scenes/scheduled-ticks.mjs';
import { tenRequests } from './scenes/ten-requests.mjs';
import { Timeline } from './timeline.mjs';

// What README.md says.
const longestMs = 120_000;
const ttlMs = 2_000;
const scenes = [tenRequests, killedHolder, pausedHolder, lateWrite, scheduledTicks, cleanShutdown];

const timeline = new Timeline();
const processes = new Processes();
process.once('exit', () => processes.kill());

const dataDir = await mkdtemp(join(tmpdir(), 'demo-'));
let redis;
try {
  process.exitCode = (await Promise.race([play(), interrupted()])) ? 0 : 1;
} catch (error) {
  timeline.end(`The demo could not go on: ${error.stack}`);
  process.exitCode = 1;
} finally {
  await processes.end();
  await redis?.stop();
  await rm(dataDir, { recursive: true, force: true });
}
process.exit(); // a scene that was given up may still be waiting for something

/** Rejects when the user or the clock ends the demo early. */
function interrupted() {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.once(signal, () => reject(new Error(`it was ended by ${signal}.`)));
    }
    const late = `it took longer than ${longestMs / 1000} s, which it should not.`;
    setTimeout(() => reject(new Error(late)), longestMs).unref();
  });
}

async function play() {
  const startedAt = performance.now();
  redis = await startRedis(processes);
  timeline.scene('Three replicas on one Redis and one data folder');
  timeline.event('redis', `is at ${redis.url}`);
  const settings = {
    REDIS_URL: redis.url,
    DATA_DIR: dataDir,
    LOCK_TTL_MS: String(ttlMs),
    LOCK_COMMAND_TIMEOUT_MS: '600',
    DEMO_STEP_DELAY_MS: '200',
    EMBED_WORKERS: '1',
    ARCHIVE_CRON: `*/${TICK_MS / 1000} * * * * *`,
  };
  const replicas = ['replica-1', 'replica-2', 'replica-3'].map(
    (name) => new Replica(name, processes, settings),
  );
  await Promise.all(
    replicas.map(async (replica) =>
      timeline.event(replica.name, `is ready at ${await replica.start()}`),
    ),
  );
  const claims = [];
  const returning = []; // replicas that start again while the next scenes go on without them
  const stage = { timeline, replicas, redis, dataDir, ttlMs, processes, returning };
  for (const scene of scenes) claims.push(...(await scene(stage)));
  timeline.table(claims);
  const differing = claims.filter(({ holds }) => !holds).length;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  timeline.end(
    differing === 0
      ? `All as claimed, in ${seconds} s.`
      : `${differing} of ${claims.length} claims differ from what was seen.`,
  );
  return differing === 0;
}
