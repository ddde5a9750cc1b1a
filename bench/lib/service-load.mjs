import autocannon from 'autocannon';
import { usage } from './service-stage.mjs';

/**
 * Sends the same request again and again over `connections` (autocannon), after a second of warming up.
 * @param {import('../../test/support/service-process.ts').ServiceProcess} service
 * @param {{ method?: string, path: string, headers?: Record<string, string>, connections?: number, seconds: number, status: number }} request
 * @throws where any answer has another status than `status`
 */
export async function load(
  service,
  { method = 'GET', path, headers = {}, connections = 32, seconds, status },
) {
  const request = { url: service.url + path, method, headers, connections };
  await autocannon({ ...request, duration: 1 });
  const before = usage(service.pid).cpuMs;
  const result = await autocannon({ ...request, duration: seconds });
  const cpuMs = usage(service.pid).cpuMs - before;
  const count = result.statusCodeStats[status]?.count ?? 0;
  if (count === 0 || count < result.requests.total) {
    const seen = JSON.stringify(result.statusCodeStats);
    throw new Error(`${method} ${path} was answered ${seen}, not only ${status}.`);
  }
  return {
    perSecond: count / result.duration,
    cpuMsEach: cpuMs / count,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}
