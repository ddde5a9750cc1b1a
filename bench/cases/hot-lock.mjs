import { nowUs, pause, pauseUntil } from '../lib/clock.mjs';
import { largest, mean } from '../lib/statistics.mjs';

const WORKERS_PER_PROCESS = 8;
/** Of each cycle, under the lock. */
export const WORK_MS = 2;
/** Both processes have been told by then. */
const LEAD_US = 50_000;
/** Left out at the start: the line is still forming, and its first places come cheap. */
const SETTLE_PART = 0.25;

/** In a peer's process. */
export const worker = {
  /**
   * Its workers take one lock in turn, work, let go, rest, ask again, from one instant to another.
   * @param {import('../lib/peers.mjs').Peer} peer
   * @param {{ name: string, startUs: number, endUs: number, restMs: number }} options
   * @returns {Promise<number[][]>} per cycle: worker, asked, granted, released (µs)
   */
  async run(peer, { name, startUs, endUs, restMs }) {
    const cycles = [];
    const loop = async (_, index) => {
      while (nowUs() < endUs) {
        const askedUs = nowUs();
        const handle = await peer.wait(name);
        const grantedUs = nowUs();
        // After the end the line is emptied without working.
        if (grantedUs < endUs) await pause(WORK_MS);
        const releasedUs = nowUs();
        await peer.release(handle);
        cycles.push([index, askedUs, grantedUs, releasedUs]);
        if (restMs > 0) await pause(restMs);
      }
    };
    await pauseUntil(startUs);
    await Promise.all(Array.from({ length: WORKERS_PER_PROCESS }, loop));
    return cycles;
  },
  /** Cycles per second of the work alone: timers are a little late. */
  async ceiling(_peer, { ms }) {
    const start = nowUs();
    let cycles = 0;
    while (nowUs() < start + ms * 1e3) {
      await pause(WORK_MS);
      cycles += 1;
    }
    return (cycles / (nowUs() - start)) * 1e6;
  },
};

/**
 * One lock that sixteen workers in two processes want all the time. Without a rest between two
 * cycles a worker whose client polls takes the lock back before any other asks: many cycles, by few.
 * @param {import('../lib/tools.mjs').Tools} tools
 * @param {import('../lib/peer-pair.mjs').PeerPair} pair
 * @param {{ ms: number, restMs: number }} options
 */
export async function measureHotLock({ sentOf }, pair, { ms, restMs }) {
  const startUs = nowUs() + LEAD_US;
  const endUs = startUs + ms * 1e3;
  const sent = sentOf(pair.id);
  const before = await sent();
  const options = { name: 'hot', startUs, endUs, restMs };
  const [first, second] = await Promise.all([
    pair.first.call('hotLock', 'run', options),
    pair.second.call('hotLock', 'run', options),
  ]);
  const commands = (await sent()) - before;
  const all = [first, second].flatMap((cycles, process) =>
    cycles.map(([index, askedUs, grantedUs, releasedUs]) => ({
      process,
      worker: process * WORKERS_PER_PROCESS + index,
      askedUs,
      grantedUs,
      releasedUs,
    })),
  );
  return {
    ...figures(all, startUs + (endUs - startUs) * SETTLE_PART, endUs),
    roundTrips: commands / all.length,
  };
}

/**
 * The figures of the cycles that were granted between two instants.
 * @param {{ process: number, worker: number, askedUs: number, grantedUs: number, releasedUs: number }[]} all
 */
function figures(all, fromUs, toUs) {
  all.sort((a, b) => a.grantedUs - b.grantedUs);
  const cycles = all.filter(({ grantedUs }) => grantedUs >= fromUs && grantedUs < toUs);
  const waits = cycles.map(({ askedUs, grantedUs }) => (grantedUs - askedUs) / 1e3);
  const perWorker = count(cycles, 'worker', 2 * WORKERS_PER_PROCESS);
  const perProcess = count(cycles, 'process', 2);
  return {
    cyclesPerSecond: (cycles.length / (toUs - fromUs)) * 1e6,
    leastOfMostWorker: Math.min(...perWorker) / Math.max(...perWorker),
    leastOfMostProcess: Math.min(...perProcess) / Math.max(...perProcess),
    overtakenPart: overtaken(cycles) / cycles.length,
    longestOfMeanWait: largest(waits) / mean(waits),
    longestWaitMs: largest(waits),
    overlaps: overlaps(all),
  };
}

function count(cycles, field, size) {
  const counts = new Array(size).fill(0);
  for (const cycle of cycles) counts[cycle[field]] += 1;
  return counts;
}

/** Grants to a worker before which another of the same process, that had asked later, was served. */
function overtaken(cycles) {
  const latestAsked = [0, 0];
  let times = 0;
  for (const { process, askedUs } of cycles) {
    if (askedUs < latestAsked[process]) times += 1;
    else latestAsked[process] = askedUs;
  }
  return times;
}

/** Holds that began before the one before had ended: must be none, or the figures mean nothing. */
function overlaps(all) {
  let times = 0;
  let heldUntilUs = 0;
  for (const { grantedUs, releasedUs } of all) {
    if (grantedUs < heldUntilUs) times += 1;
    heldUntilUs = Math.max(heldUntilUs, releasedUs);
  }
  return times;
}
