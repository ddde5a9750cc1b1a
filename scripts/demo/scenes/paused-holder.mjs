import { processed, restsInWork, takeOver } from '../take-over.mjs';

/** A holder that sleeps through its lease: on waking it sees that the lease is over, and writes nothing. */
export async function pausedHolder({ timeline, replicas, ttlMs }) {
  timeline.scene('The holder is paused for longer than its lease (SIGSTOP)');
  const [, holder, ...others] = replicas;
  const id = '1003';
  await holder.upload(id, 'The text of document 1003.');
  const request = holder.process(id);
  const { fence } = await restsInWork(id, others[0]);
  timeline.event(holder.name, `works on document ${id} under fence ${fence}`);
  holder.signal('SIGSTOP');
  const pausedAt = performance.now();
  timeline.event(holder.name, 'is paused');

  const { winner, tookMs } = await takeOver(id, {
    fence,
    replicas: others,
    sinceMs: pausedAt,
    timeoutMs: ttlMs + 10_000,
  });
  timeline.event(winner.name, `takes over ${Math.round(tookMs)} ms later`);
  const done = await processed(id, winner);
  timeline.event(winner.name, `has processed document ${id} under fence ${done.fence}`);
  holder.signal('SIGCONT');
  timeline.event(holder.name, 'goes on');
  const { status, body } = await request;
  timeline.event(holder.name, `answers its client ${status} ${body?.code}: it wrote nothing`);
  const after = await others[0].document(id);
  const isUntouched = JSON.stringify(after) === JSON.stringify(done);
  return [
    {
      what: 'holder paused beyond its TTL',
      claimed: '503 lease_lost, nothing written',
      seen: `${status} ${body?.code}, ${isUntouched ? 'nothing written' : 'the document changed'}`,
      holds: status === 503 && body?.code === 'lease_lost' && isUntouched,
    },
  ];
}
