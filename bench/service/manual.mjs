import { manual } from '../../test/support/manual.mjs';
import { pause } from '../lib/clock.mjs';
import { figure } from '../lib/format.mjs';
import { resetPeak, usage, whileAlive } from '../lib/service-stage.mjs';

export const title = 'A manual of 480 pages';
export const about =
  'Read, cut, embedded and stored by one replica on SQLite, while `/health/live` is asked every 10 ms.';

/** @param {import('../lib/service-stage.mjs').Stage} stage */
export async function measure(stage) {
  const { bytes, pages, source } = await manual();
  const service = await stage.service();
  const form = new FormData();
  form.append('file', new Blob([bytes], { type: 'application/pdf' }), 'manual.pdf');
  const stored = await service.fetch('/documents/manual', { method: 'PUT', body: form });
  if (!stored.ok) throw new Error(`The manual was answered ${await stored.text()}`);

  resetPeak(service.pid);
  const before = usage(service.pid).cpuMs;
  const began = performance.now();
  const { result, p99Ms, maxMs } = await whileAlive(service, () => processed(service));
  const seconds = (performance.now() - began) / 1e3;
  const { cpuMs, peakMb } = usage(service.pid);
  if (result.state !== 'ready' || result.pages !== pages) {
    throw new Error(`The manual became ${JSON.stringify(result)}`);
  }
  return [
    { what: 'from the request to ready', value: figure(seconds, ' s') },
    { what: 'passages', value: String(result.chunks) },
    { what: 'CPU time', value: figure((cpuMs - before) / 1e3, ' s') },
    { what: 'greatest memory (RSS)', value: figure(peakMb, ' MB') },
    {
      what: '`/health/live` meanwhile, p99',
      value: figure(p99Ms, ' ms'),
      bar: 'under 100 ms',
      isMet: p99Ms < 100,
    },
    { what: '`/health/live` meanwhile, longest', value: figure(maxMs, ' ms') },
    { what: 'the manual', value: source },
  ];
}

async function processed(service) {
  await service.fetch('/documents/manual/process', {
    method: 'POST',
    headers: { prefer: 'respond-async' },
  });
  for (;;) {
    await pause(200);
    const document = await (await service.fetch('/documents/manual')).json();
    if (!['queued', 'processing'].includes(document.state)) return document;
  }
}
