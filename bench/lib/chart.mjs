import { figure } from './format.mjs';

const WIDTH = 840;
const PANEL = { width: 400, gap: 20, top: 44 };
const ROW = 22;
const LABEL = 150;
const VALUE = 56;

/** The panels: what is drawn, and which way is better. */
const panels = [
  ['Sequential pairs/s', 'more is better', 'sequential', 'pairsPerSecond'],
  ['Pairs/s with 64 in flight', 'more is better', 'inFlight', 'pairsPerSecond'],
  ['Hand-over p50, ms', 'less is better', 'handOver', 'p50Ms'],
  ['Hand-over p95, ms', 'less is better', 'handOver', 'p95Ms'],
  ['One hot lock, cycles/s', 'more is better', 'hotLock', 'cyclesPerSecond'],
  ['One hot lock, longest wait / mean', 'less is better', 'hotLock', 'longestOfMeanWait'],
  ['One hot lock, round trips per cycle', 'less is better', 'hotLock', 'roundTrips'],
  ['Commands/s per idle waiter', 'less is better', 'idleWaiters', 'commandsPerSecond'],
];

/** A card of its own in both themes: a viewer's page may be of the other one than the system. */
const style = `
  .card { fill: #ffffff; stroke: #d0d7de; }
  text { fill: #1f2328; font: 12px system-ui, sans-serif; }
  .title { font-weight: 600; font-size: 13px; }
  .hint { fill: #59636e; }
  .bar { fill: #8c959f; }
  .ours { fill: #0969da; }
  .name.ours-name { font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    text { fill: #f0f6fc; }
    .hint { fill: #9198a1; }
    .bar { fill: #6e7681; }
    .ours { fill: #4493f8; }
  }`;

/**
 * The main figures as bars, two panels a row.
 * @param {any} report
 * @returns {string} an SVG document
 */
export function chart({ peers: all, results }) {
  const peers = all.filter(({ floor }) => !floor);
  const drawn = panels.filter(([, , name]) => results[name]);
  const height = PANEL.top + peers.length * ROW + 12;
  const total = Math.ceil(drawn.length / 2) * height + PANEL.gap;
  const content = drawn.map((panel, index) => {
    const x = PANEL.gap / 2 + (index % 2) * (PANEL.width + PANEL.gap);
    const y = PANEL.gap / 2 + Math.floor(index / 2) * height;
    return `<g transform="translate(${x} ${y})">${drawPanel(panel, peers, results)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${total}" width="${WIDTH}" height="${total}" role="img" aria-label="Benchmarks of doclock and its peers">
<style>${style}
</style>
<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${total - 1}" rx="8"/>
${content.join('\n')}
</svg>
`;
}

function drawPanel([title, hint, name, field], peers, results) {
  const values = peers.map(({ id }) => results[name].summary[id]?.[field]);
  const most = Math.max(...values.filter(Number.isFinite), Number.MIN_VALUE);
  const rows = peers.map(({ id, title: peer }, index) => {
    const value = values[index];
    const y = PANEL.top + index * ROW;
    const width = Number.isFinite(value) ? (value / most) * (PANEL.width - LABEL - VALUE) : 0;
    const ours = id === 'doclock';
    return [
      `<text class="name${ours ? ' ours-name' : ''}" x="${LABEL - 8}" y="${y + 11}" text-anchor="end">${escape(short(peer))}</text>`,
      `<rect class="${ours ? 'ours' : 'bar'}" x="${LABEL}" y="${y}" width="${Math.max(width, 1).toFixed(1)}" height="14" rx="2"/>`,
      `<text x="${(LABEL + width + 6).toFixed(1)}" y="${y + 11}">${escape(figure(value))}</text>`,
    ].join('');
  });
  return `<text class="title" x="8" y="16">${escape(title)}</text><text class="hint" x="8" y="32">${escape(hint)}</text>${rows.join('\n')}`;
}

const short = (title) => title.replace('plain ioredis, autopipelined', 'ioredis autopipelined');

const escape = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
