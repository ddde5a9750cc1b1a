import { figure } from '../lib/format.mjs';
import { load } from '../lib/service-load.mjs';
import { prose, usage } from '../lib/service-stage.mjs';

export const title = 'Requests';
export const about =
  'One replica on SQLite, 32 connections (8 for searches); the locks of the last two are in Redis. Answers per second, and the CPU time of the replica for one.';

const busy = {
  method: 'POST',
  path: '/documents/busy/process',
  status: 423,
};
const unchanged = { method: 'POST', path: '/documents/a/process', connections: 1, status: 200 };

/** @param {import('../lib/service-stage.mjs').Stage} stage */
export async function measure(stage) {
  const seconds = stage.isQuick ? 2 : 8;
  const alone = await stage.service();
  await store(alone, 'a', prose(4_000));
  const redis = await stage.redis();
  const shared = await stage.service({ REDIS_URL: redis.url });
  await store(shared, 'a', prose(2_000));
  const slow = await stage.service({ REDIS_URL: redis.url, DEMO_STEP_DELAY_MS: '600000' });
  await slow.fetch('/documents/busy', json('PUT', { title: 'busy', text: 'busy' }));
  await slow.fetch('/documents/busy/process', {
    method: 'POST',
    headers: { prefer: 'respond-async' },
  });

  const rows = [
    await row('GET /health/live', alone, { path: '/health/live', status: 200, seconds }),
    await row('GET /documents/:id', alone, { path: '/documents/a', status: 200, seconds }),
    await row('GET /documents/:id/search (10 passages)', alone, {
      path: '/documents/a/search?q=who+waits+for+the+lease',
      connections: 8,
      status: 200,
      seconds,
    }),
    await row('POST /documents/:id/process, held by another: 423', slow, { ...busy, seconds }),
  ];
  const before = usage(shared.pid).rssMb;
  rows.push(
    await row('POST /documents/:id/process, unchanged, one after the other', shared, {
      ...unchanged,
      seconds,
    }),
  );
  const after = usage(shared.pid).rssMb;
  rows.push({ what: 'memory (RSS) before and after these', value: `${before} MB, ${after} MB` });
  return rows;
}

async function row(what, service, request) {
  const { perSecond, cpuMsEach, p99Ms } = await load(service, request);
  const value = `${figure(perSecond)} /s, ${figure(cpuMsEach, ' ms')} of CPU each, p99 ${figure(p99Ms, ' ms')}`;
  return { what, value };
}

async function store(service, id, text) {
  await service.fetch(`/documents/${id}`, json('PUT', { title: id, text }));
  const answer = await service.fetch(`/documents/${id}/process`, { method: 'POST' });
  if (!answer.ok) throw new Error(`Document ${id} was answered ${await answer.text()}`);
}

function json(method, body) {
  return {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}
