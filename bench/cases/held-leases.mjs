import { nowUs, pause } from '../lib/clock.mjs';
import { largest, median, quantile } from '../lib/statistics.mjs';
import { countLiveTimers } from '../lib/live-timers.mjs';

const IN_FLIGHT = 64;
const SAMPLE_TIMERS_MS = 50;
/** Keys whose remaining life is read at a time, and how often. */
const LIVES_AT_ONCE = 1_000;
const SAMPLE_LIVES_MS = 50;

let letGo = [];
let liveTimers;

/** In a peer's process. */
export const worker = {
  /**
   * Takes locks and keeps them renewed.
   * @param {import('../lib/peers.mjs').Peer} peer
   * @param {{ leases: number, ttlMs: number, prefix: string }} options
   */
  async hold(peer, { leases, ttlMs, prefix }) {
    liveTimers ??= countLiveTimers();
    let next = 0;
    const loop = async () => {
      while (next < leases) {
        const index = next;
        next += 1;
        letGo.push(await peer.hold(`${prefix}${index}`, ttlMs));
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
  },
  /** CPU time of the process over `ms`, and the timers set since its first lease that are alive. */
  async watch(_peer, { ms }) {
    const cpu = process.cpuUsage();
    const start = nowUs();
    const timers = [];
    while (nowUs() < start + ms * 1e3) {
      timers.push(liveTimers());
      await pause(SAMPLE_TIMERS_MS);
    }
    const { user, system } = process.cpuUsage(cpu);
    return { cpuPart: (user + system) / (nowUs() - start), timers: median(timers) };
  },
  async release() {
    const all = letGo;
    letGo = [];
    while (all.length > 0) await Promise.all(all.splice(0, IN_FLIGHT).map((end) => end()));
  },
};

/**
 * What it costs to keep leases alive: CPU of their process, its timers, the longest script on the
 * server, and the lowest remaining life that any of the keys was seen with.
 * @param {import('../lib/tools.mjs').Tools} tools
 * @param {import('../lib/peer-pair.mjs').PeerPair} pair
 * @param {{ leases: number, ttlMs: number, ms: number }} options
 */
export async function measureHeldLeases({ probe }, { first }, { leases, ttlMs, ms }) {
  const prefix = `held:${leases}:`;
  await first.call('held', 'hold', { leases, ttlMs, prefix });
  const lives = await keysOf(probe, prefix);
  if (lives.length !== leases) {
    throw new Error(`${first.peer} holds ${lives.length} keys of ${leases} leases.`);
  }
  await probe.startSlowLog();
  const before = await probe.scriptsUs();
  const watching = first.call('held', 'watch', { ms });
  const lowest = await lowestLife(probe.client, lives, ms);
  const { cpuPart, timers } = await watching;
  const { scripts, longestTrifle } = await probe.slowUs();
  const serverPart = ((await probe.scriptsUs()) - before) / (ms * 1e3);
  await first.call('held', 'release');
  return {
    leases,
    ttlMs,
    cpuPart,
    serverPart,
    timers,
    longestScriptMs: scripts.length === 0 ? 0 : largest(scripts) / 1e3,
    p95ScriptMs: scripts.length === 0 ? 0 : quantile(scripts, 0.95) / 1e3,
    slowScripts: scripts.length,
    longestTrifleMs: longestTrifle / 1e3,
    lowestLifePart: lowest / ttlMs,
  };
}

/** The lock keys, whatever the peer puts before the name; helper keys have braces. */
async function keysOf({ client }, prefix) {
  const keys = [];
  for await (const page of client.scanStream({ match: `*${prefix}*`, count: 1_000 })) {
    keys.push(...page.filter((key) => !key.includes('{')));
  }
  return [...new Set(keys)];
}

/** Goes round the keys all the time, so that each is seen several times between two renewals. */
async function lowestLife(client, keys, ms) {
  const end = nowUs() + ms * 1e3;
  let lowest = Infinity;
  let at = 0;
  while (nowUs() < end) {
    const pipeline = client.pipeline();
    const count = Math.min(LIVES_AT_ONCE, keys.length);
    for (let index = 0; index < count; index += 1) pipeline.pttl(keys[(at + index) % keys.length]);
    at = (at + count) % keys.length;
    for (const [, life] of await pipeline.exec()) lowest = Math.min(lowest, life);
    await pause(SAMPLE_LIVES_MS);
  }
  return lowest;
}
