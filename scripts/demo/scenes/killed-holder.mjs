import { until } from '../../support/until.mjs';
import { processed, takeOver } from '../take-over.mjs';

/** A holder that dies in the middle: another replica gets the lock when the lease has run out, not before. */
export async function killedHolder({ timeline, replicas, ttlMs, returning }) {
  timeline.scene('The holder is killed in the middle (kill -9)');
  const [holder, ...others] = replicas;
  const id = '1002';
  await holder.upload(id, 'The text of document 1002.');
  await holder.begin(id);
  const { fence } = await until(`${holder.name} to work on it`, async () => {
    const document = await holder.document(id);
    return document.state === 'processing' && document.replica === holder.name && document;
  });
  timeline.event(holder.name, `works on document ${id} under fence ${fence}`);
  holder.signal('SIGKILL');
  const killedAt = performance.now();
  await holder.exited;
  timeline.event(holder.name, 'is killed');
  const back = holder.start().then(() => timeline.event(holder.name, 'is back'));
  back.catch(() => {}); // whoever waits for its return hears of it
  returning.push(back);

  const { winner, tookMs } = await takeOver(id, {
    fence,
    replicas: others,
    sinceMs: killedAt,
    timeoutMs: ttlMs + 10_000,
  });
  timeline.event(winner.name, `takes over ${Math.round(tookMs)} ms later (TTL ${ttlMs} ms)`);
  const done = await processed(id, winner);
  timeline.event(winner.name, `has processed document ${id} under fence ${done.fence}`);
  const isNewer = BigInt(done.fence) > BigInt(fence);
  return [
    {
      what: 'holder killed: taken over',
      claimed: `within ${ttlMs} ms + 1 s, higher fence`,
      seen: `${Math.round(tookMs)} ms, ${isNewer ? 'higher fence' : 'fence not higher'}`,
      holds: tookMs <= ttlMs + 1_000 && isNewer,
    },
  ];
}
