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
 * One Nest and Fastify route without a lock, with one bare question to Redis and the framework's own
 * exception, and with `@WithLock` while somebody else holds it, one after the other, in rounds: answers
 * per second, and the CPU time that one costs the application, in µs. `shares`: whose code that of the
 * locked route is.
 * @param {number} redisPort
 * @param {{ rounds: number, ms: number }} options
 */
export async function measureHttp(redisPort, { rounds, ms }) {
  const child = fork(main, [String(redisPort)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]) => {
    throw new Error(`The HTTP application ended with code ${code}.`);
  });
  ended.catch(() => undefined); // its end after the run is no failure
  const message = async () => (await Promise.race([once(child, 'message'), ended]))[0];
  const ask = async (question) => {
    child.send(question);
    return (await message()).answer;
  };
  try {
    const { port } = await message();
    const app = { port, ask };
    for (const route of Object.keys(routes)) await measureRoute(app, route, ms / 2); // warm-up
    const results = [];
    for (let round = 0; round < rounds; round += 1) {
      const result = {};
      for (const route of Object.keys(routes)) {
        const { perSecond, cpuUs } = await measureRoute(app, route, ms);
        result[route] = perSecond;
        result[`${route}CpuUs`] = cpuUs;
      }
      results.push(result);
    }
    await ask('startProfile');
    await measureRoute(app, 'locked', ms);
    return { rounds: results, shares: await ask('endProfile') };
  } finally {
    const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    if (child.connected) child.disconnect();
    await exited;
    clearTimeout(timer);
  }
}

async function measureRoute({ port, ask }, route, ms) {
  const before = await ask('cpu');
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/${route}/held/process`,
    method: 'POST',
    connections: CONNECTIONS,
    duration: ms / 1e3,
  });
  const after = await ask('cpu');
  const { count = 0 } = result.statusCodeStats[routes[route]] ?? {};
  const { total } = result.requests;
  if (count === 0 || count < total) {
    const seen = JSON.stringify(result.statusCodeStats);
    throw new Error(`The route ${route} answered ${seen}, not only ${routes[route]}.`);
  }
  const cpuUs = (after.user + after.system - before.user - before.system) / count;
  return { perSecond: count / result.duration, cpuUs };
}
