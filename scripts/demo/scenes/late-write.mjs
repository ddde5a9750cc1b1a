import { fileURLToPath } from 'node:url';
import { until } from '../../support/until.mjs';
import { processed, restsInWork, takeOver } from '../take-over.mjs';

const worker = fileURLToPath(new URL('../careless-worker.mjs', import.meta.url));

/** A worker that does not look at its lease, paused beyond it: only the fence stops its late write. */
export async function lateWrite({ timeline, replicas, redis, dataDir, ttlMs, processes }) {
  timeline.scene('A careless worker is paused, and writes late all the same');
  const id = '1004';
  await replicas[1].upload(id, 'The text of document 1004.');
  const argument = JSON.stringify({ redisUrl: redis.url, dataDir, id, ttlMs });
  const careless = processes.start(process.execPath, [worker, argument], {
    env: { PATH: process.env.PATH },
    stdin: 'pipe',
  });
  const hears = (word) =>
    until(`the careless worker to say "${word}"`, () => {
      const line = careless
        .said()
        .split('\n')
        .find((text) => text.startsWith(`${word} `));
      if (line === undefined && careless.child.exitCode !== null) throw new Error(careless.said());
      return line?.slice(word.length + 1);
    });
  const fence = await hears('holds');
  await restsInWork(id, replicas[1]);
  timeline.event('careless', `works on document ${id} under fence ${fence}`);
  careless.child.kill('SIGSTOP');
  const pausedAt = performance.now();
  timeline.event('careless', 'is paused');

  const { winner, tookMs } = await takeOver(id, {
    fence,
    replicas,
    sinceMs: pausedAt,
    timeoutMs: ttlMs + 10_000,
  });
  timeline.event(winner.name, `takes over ${Math.round(tookMs)} ms later`);
  const done = await processed(id, winner);
  timeline.event(winner.name, `has processed document ${id} under fence ${done.fence}`);
  careless.child.kill('SIGCONT');
  careless.child.stdin.end('write\n');
  timeline.event('careless', `goes on, and publishes under fence ${fence}`);
  const outcome = await hears('outcome');
  await careless.exited;
  const isUntouched =
    JSON.stringify(await winner.document(id)) === JSON.stringify(done) &&
    BigInt(fence) < BigInt(done.fence);
  timeline.event(
    'database',
    outcome === 'lease_lost' ? 'refuses it: a newer fence has written' : outcome,
  );
  return [
    {
      what: 'late write of a careless worker',
      claimed: 'refused by the fence',
      seen: `${outcome}, ${isUntouched ? 'nothing written' : 'the document changed'}`,
      holds: outcome === 'lease_lost' && isUntouched,
    },
  ];
}
