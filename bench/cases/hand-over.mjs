import { nowUs, pause } from '../lib/clock.mjs';
import { quantile } from '../lib/statistics.mjs';

/** The waiter waits so long before the release, in ms; random, so that no poll is in step with it. */
const LEAST_WAIT_MS = 30;
const MORE_WAIT_MS = 40;

let handle;
let waiting;

/** In a peer's process. */
export const worker = {
  /** @param {import('../lib/peers.mjs').Peer} peer @param {string} name */
  async hold(peer, name) {
    handle = await peer.wait(name);
  },
  /** Lets go; returns the instant just before. @param {import('../lib/peers.mjs').Peer} peer */
  async release(peer) {
    const releasedUs = nowUs();
    await peer.release(handle);
    return releasedUs;
  },
  /** Begins to wait. @param {import('../lib/peers.mjs').Peer} peer @param {string} name */
  ask(peer, name) {
    waiting = peer.wait(name).then((granted) => ({ granted, grantedUs: nowUs() }));
    waiting.catch(() => undefined); // `granted` tells
  },
  /** Waits for the lock, lets it go again; returns the instant of the grant. @param {import('../lib/peers.mjs').Peer} peer */
  async granted(peer) {
    const { granted, grantedUs } = await waiting;
    await peer.release(granted);
    return grantedUs;
  },
};

/**
 * How long it takes from a release in one process to the grant in another, which waits: both read
 * the machine's one monotonic clock. In ms.
 * @param {import('../lib/tools.mjs').Tools} _tools
 * @param {import('../lib/peer-pair.mjs').PeerPair} pair
 * @param {{ ms: number }} options
 * @returns {Promise<number[]>}
 */
export async function measureHandOvers(_tools, { first, second }, { ms }) {
  const end = nowUs() + ms * 1e3;
  const times = [];
  for (let turn = 0; nowUs() < end; turn += 1) {
    const name = `hand-over:${turn % 10}`;
    await first.call('handOver', 'hold', name);
    await second.call('handOver', 'ask', name);
    await pause(LEAST_WAIT_MS + Math.random() * MORE_WAIT_MS);
    const releasedUs = await first.call('handOver', 'release');
    const grantedUs = await second.call('handOver', 'granted');
    times.push((grantedUs - releasedUs) / 1e3);
  }
  return times;
}

/**
 * Over all rounds together, since one round has too few for a 95th percentile.
 * @param {readonly number[][]} rounds
 */
export function summarizeHandOvers(rounds) {
  const all = rounds.flat();
  return { count: all.length, p50Ms: quantile(all, 0.5), p95Ms: quantile(all, 0.95) };
}
