import { until } from '../../support/until.mjs';

/** SIGTERM in the middle of a request: it is answered, every replica ends with 0, and no lock is left. */
export async function cleanShutdown({ timeline, replicas, redis }) {
  timeline.scene('A clean shutdown (SIGTERM), one request under way');
  const [busy] = replicas;
  await busy.upload('1005', 'The text of document 1005.');
  const request = busy.process('1005');
  await until('the last request to be at work', () => redis.keys.exists('lock:doc:1005'));
  timeline.event(busy.name, 'works on document 1005');
  const startedAt = performance.now();
  for (const replica of replicas) replica.signal('SIGTERM');
  timeline.event('demo', 'sends SIGTERM to all three');
  const [{ status }, ...exits] = await Promise.all([
    request.then((answer) => {
      timeline.event(busy.name, `answers its client ${answer.status}`);
      return answer;
    }),
    ...replicas.map(async (replica) => {
      const how = await replica.exited;
      timeline.event(replica.name, `ends with ${how}`);
      return how;
    }),
  ]);
  const tookMs = Math.round(performance.now() - startedAt);
  // Keys of the shape lock:<name>; the fences beside them are kept for a day on purpose.
  const left = await redis.keys.keys('lock:*');
  timeline.event('redis', left.length === 0 ? 'has no lock left' : `still has ${left.join(', ')}`);
  return [
    {
      what: 'clean shutdown',
      claimed: 'answered 200, exits 0 0 0, no lock left',
      seen: `answered ${status}, exits ${exits.join(' ')}, ${left.length === 0 ? 'no' : left.length} lock left, ${tookMs} ms`,
      holds: status === 200 && exits.every((how) => how === 0) && left.length === 0,
    },
  ];
}
