import { pause } from '../lib/clock.mjs';
import { figure } from '../lib/format.mjs';
import { prose } from '../lib/service-stage.mjs';
import { quantile } from '../lib/statistics.mjs';

export const title = 'Many documents at once';
export const about =
  'Documents of 25 KB (about 65 passages), all posted at once with `Prefer: respond-async`; three replicas share one PostgreSQL, one Redis and the cores of this machine. Beside it: the same number one after the other, reckoned from ten, and searches in another document meanwhile.';

const bytes = 25 * 1024;
const everyMs = 250;

/** @param {import('../lib/service-stage.mjs').Stage} stage */
export async function measure(stage) {
  const count = stage.isQuick ? 12 : 300;
  const alone = await stage.service();
  const rows = await bulk('one replica', [alone], count, stage.isQuick);
  await alone.stop();
  const postgres = await stage.postgres();
  const redis = await stage.redis();
  const env = { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  const three = await Promise.all([stage.service(env), stage.service(env), stage.service(env)]);
  rows.push(...(await bulk('three replicas', three, count, stage.isQuick)));
  return rows;
}

async function bulk(where, services, count, isQuick) {
  const [first] = services;
  const samples = isQuick ? 3 : 10;
  await put(first, 'searched', 'The keeper lights the lamp at dusk.');
  await process(first, 'searched');
  let oneMs = 0;
  for (let i = 0; i < samples; i += 1) {
    await put(first, `sample-${i}`, prose(bytes, 10_000 + i));
    const startedAt = performance.now();
    await process(first, `sample-${i}`);
    oneMs += (performance.now() - startedAt) / samples;
  }
  const ids = Array.from({ length: count }, (_, i) => `bulk-${i}`);
  for (const [i, id] of ids.entries()) await put(first, id, prose(bytes, i + 1));

  const startedAt = performance.now();
  await Promise.all(ids.map((id, i) => accept(services[i % services.length], id)));
  const acceptedMs = performance.now() - startedAt;
  const searches = [];
  let states = new Map();
  do {
    const askedAt = performance.now();
    const answer = await first.fetch('/documents/searched/search?q=who+lights+the+lamp');
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`A search was answered ${answer.status}.`);
    searches.push(performance.now() - askedAt);
    await pause(everyMs);
    states = await statesOf(first, ids);
  } while (states.has('queued') || states.has('processing'));
  const tookMs = performance.now() - startedAt;
  const ended = [...states].map(([state, number]) => `${number} ${state}`).join(', ');
  return [
    {
      what: `${count} documents at ${where}`,
      value: `${figure(tookMs / 1_000, ' s')}: ${ended}; accepted in ${figure(acceptedMs, ' ms')}`,
      bar: 'all ready',
      isMet: states.get('ready') === count,
    },
    {
      what: `the same, beside one after the other at one replica (${figure(oneMs, ' ms')} each)`,
      value: `× ${(tookMs / (oneMs * count)).toFixed(2)}`,
      bar: 'at most × 1.2',
      isMet: tookMs <= 1.2 * oneMs * count,
    },
    {
      what: `searches meanwhile (${searches.length})`,
      value: `p50 ${figure(quantile(searches, 0.5), ' ms')}, p95 ${figure(quantile(searches, 0.95), ' ms')}`,
      bar: 'p95 under 300 ms',
      isMet: quantile(searches, 0.95) < 300,
    },
  ];
}

async function put(service, id, text) {
  const answer = await service.fetch(`/documents/${id}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: id, text }),
  });
  await expectStatus(answer, [200, 201]);
}

async function process(service, id) {
  await expectStatus(await service.fetch(`/documents/${id}/process`, { method: 'POST' }), [200]);
}

async function accept(service, id) {
  const headers = { prefer: 'respond-async' };
  const answer = await service.fetch(`/documents/${id}/process`, { method: 'POST', headers });
  await expectStatus(answer, [202]);
}

async function expectStatus(answer, expected) {
  const text = await answer.text();
  if (!expected.includes(answer.status)) throw new Error(`${answer.url}: ${text}`);
}

async function statesOf(service, ids) {
  const wanted = new Set(ids);
  const states = new Map();
  let cursor = '';
  do {
    const answer = await service.fetch(`/documents?limit=200${cursor}`);
    const { items, nextCursor } = await answer.json();
    for (const { id, state } of items) {
      if (wanted.has(id)) states.set(state, (states.get(state) ?? 0) + 1);
    }
    cursor = nextCursor ? `&cursor=${encodeURIComponent(nextCursor)}` : null;
  } while (cursor);
  return states;
}
