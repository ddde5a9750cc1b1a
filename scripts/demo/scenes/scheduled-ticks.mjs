import { until } from '../../support/until.mjs';

/** How often the archiver runs in the demo. */
export const TICK_MS = 2_000;

const watched = 3;

/** A cron job on every replica: each instant is run by one of them. */
export async function scheduledTicks({ timeline, replicas, returning }) {
  timeline.scene(`A cron job every ${TICK_MS / 1000} seconds, on three replicas`);
  await Promise.all(returning);
  const firstMs = Math.ceil((Date.now() + 100) / TICK_MS) * TICK_MS;
  const instants = Array.from({ length: watched }, (_, index) => firstMs + index * TICK_MS);
  const told = new Set();
  let ticks = [];
  await until(
    `${watched} ticks`,
    async () => {
      const { body } = await replicas[0].request('GET', '/archive/ticks?limit=50');
      ticks = body.items
        .map((item) => ({ ...item, atMs: Date.parse(item.scheduledAt) }))
        .filter(({ atMs }) => instants.includes(atMs));
      tell(timeline, ticks, told);
      return instants.every((atMs) =>
        ofInstant(ticks, atMs).some(({ outcome }) => outcome === 'ran'),
      );
    },
    { timeoutMs: watched * TICK_MS + 6_000, everyMs: 50 },
  );
  const winners = instants.map((atMs) => ofInstant(ticks, atMs).filter(isRun));
  return [
    {
      what: `cron every ${TICK_MS / 1000} s`,
      claimed: `${watched} ticks, one winner each`,
      seen: `${watched} ticks, winners ${winners.map((runs) => runs.map(({ replica }) => replica).join('+')).join(', ')}`,
      holds: winners.every(({ length }) => length === 1),
    },
  ];
}

/** One line for each tick of each replica, as soon as it has ended. */
function tell(timeline, ticks, told) {
  for (const tick of ticks.toReversed()) {
    const key = `${tick.atMs} ${tick.replica}`;
    if (tick.outcome === 'running' || told.has(key)) continue;
    told.add(key);
    const instant = tick.scheduledAt.slice(11, 19);
    const text = isRun(tick) ? `${tick.outcome} under fence ${tick.fence}` : tick.outcome;
    timeline.event(tick.replica, `tick of ${instant}: ${text}`);
  }
}

function ofInstant(ticks, atMs) {
  return ticks.filter((tick) => tick.atMs === atMs);
}

function isRun({ outcome }) {
  return !outcome.startsWith('skipped-') && outcome !== 'clock-fault';
}
