import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';

const main = fileURLToPath(new URL('../lib/http-main.mjs', import.meta.url));
const CONNECTIONS = 64;
const GRACE_MS = 3_000;

/** The routes, and the status that each has to answer with. */
const routes = { open: 201, asked: 423, locked: 423 };

/**
 * Answers per second of one Nest and Fastify route without a lock, with one bare question to Redis and
 * the framework's own exception, and with `@WithLock` while somebody else holds it, one after the other, in rounds.
 * @param {number} redisPort
 * @param {{ rounds: number, ms: number }} options
 * @returns {Promise<Record<'open' | 'asked' | 'locked', number>[]>}
 */
export async function measureHttp(redisPort, { rounds, ms }) {
  const child = fork(main, [String(redisPort)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  try {
    const started = once(child, 'message');
    const ended = exited.then(([code]) => {
      throw new Error(`The HTTP application ended with code ${code}.`);
    });
    ended.catch(() => undefined); // its end after the run is no failure
    const [{ port }] = await Promise.race([started, ended]);
    for (const route of Object.keys(routes)) await answersPerSecond(port, route, ms / 2); // warm-up
    const results = [];
    for (let round = 0; round < rounds; round += 1) {
      const result = {};
      for (const route of Object.keys(routes))
        result[route] = await answersPerSecond(port, route, ms);
      results.push(result);
    }
    return results;
  } finally {
    const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    if (child.connected) child.disconnect();
    await exited;
    clearTimeout(timer);
  }
}

async function answersPerSecond(port, route, ms) {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/${route}/held/process`,
    method: 'POST',
    connections: CONNECTIONS,
    duration: ms / 1e3,
  });
  const { count = 0 } = result.statusCodeStats[routes[route]] ?? {};
  const { total } = result.requests;
  if (count === 0 || count < total) {
    const seen = JSON.stringify(result.statusCodeStats);
    throw new Error(`The route ${route} answered ${seen}, not only ${routes[route]}.`);
  }
  return count / result.duration;
}
