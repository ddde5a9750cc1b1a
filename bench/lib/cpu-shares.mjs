import { Session } from 'node:inspector/promises';

const SAMPLE_US = 200;

/** Whose code a function is, by its file; the first that fits. Node’s own functions have no file. */
const owners = [
  ['doclock', /\/dist\/lock\//],
  ['ioredis', /\/node_modules\/ioredis\//],
  ['Nest and Fastify', /\/node_modules\//],
  ['Node: HTTP, streams, timers, promises', /^(?:node:|$)/],
];

/** What V8 calls the rest: no functions of anybody. */
const named = new Map([
  ['(idle)', undefined],
  ['(garbage collector)', 'garbage collection'],
  ['writev', 'writing to sockets'],
  ['writeUtf8String', 'writing to sockets'],
  ['writeBuffer', 'writing to sockets'],
  ['LockError', 'doclock: the error of the refusal, with its stack'],
]);

/** The rows that the shares have, in the order of a table. */
export const cpuOwners = [
  'doclock',
  'doclock: the error of the refusal, with its stack',
  'ioredis',
  'Nest and Fastify',
  'writing to sockets',
  'garbage collection',
  'Node: HTTP, streams, timers, promises',
  'others',
];

let session;

/** Starts to look where this process spends its time. */
export async function startProfile() {
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US });
  await session.post('Profiler.start');
}

/**
 * Where it went since: parts of the time in which the process was not idle, by whose code ran.
 * @returns {Promise<Record<string, number>>}
 */
export async function endProfile() {
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  const ownerOf = new Map(profile.nodes.map(({ id, callFrame }) => [id, owner(callFrame)]));
  const shares = {};
  let total = 0;
  profile.samples.forEach((id, index) => {
    const who = ownerOf.get(id);
    const us = Math.max(0, profile.timeDeltas[index]);
    if (who === undefined) return;
    shares[who] = (shares[who] ?? 0) + us;
    total += us;
  });
  return Object.fromEntries(Object.entries(shares).map(([who, us]) => [who, us / total]));
}

function owner({ functionName, url }) {
  if (named.has(functionName)) return named.get(functionName);
  return owners.find(([, file]) => file.test(url))?.[0] ?? 'others';
}
