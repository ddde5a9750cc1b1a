import { nowUs } from '../lib/clock.mjs';
import { endProfile, startProfile } from '../lib/cpu-shares.mjs';

/** Names that a worker goes through, so that no key is hot in any cache alone. */
const NAMES = 100;

/** In a peer's process. */
export const worker = {
  /**
   * Acquires and releases free locks for `ms`, or until so many pairs are done, `inFlight` of them at
   * a time.
   * @param {import('../lib/peers.mjs').Peer} peer
   * @param {{ inFlight: number, ms: number, mostPairs?: number }} options
   */
  async run(peer, { inFlight, ms, mostPairs = Infinity }) {
    const cpu = process.cpuUsage();
    const start = nowUs();
    const end = start + ms * 1e3;
    let pairs = 0;
    const loop = async (_, index) => {
      for (let turn = 0; nowUs() < end && pairs < mostPairs; turn += 1) {
        const handle = await peer.acquire(`throughput:${index}:${turn % NAMES}`);
        await peer.release(handle);
        pairs += 1;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, loop));
    const { user, system } = process.cpuUsage(cpu);
    return { pairs, elapsedUs: nowUs() - start, clientCpuUs: user + system };
  },
  /** The same, and where the CPU time goes. */
  async profile(peer, options) {
    await startProfile();
    await worker.run(peer, options);
    return endProfile();
  },
};

/**
 * Pairs of acquire and release per second, and the CPU time that one costs the client and the server.
 * @param {import('../lib/tools.mjs').Tools} tools
 * @param {import('../lib/peer-pair.mjs').PeerPair} pair
 * @param {{ inFlight: number, ms: number }} options
 */
export async function measureThroughput({ probe }, pair, options) {
  const before = await probe.cpuUs();
  const { pairs, elapsedUs, clientCpuUs } = await pair.first.call('throughput', 'run', options);
  const serverCpuUs = (await probe.cpuUs()) - before;
  return {
    pairsPerSecond: (pairs / elapsedUs) * 1e6,
    clientCpuUs: clientCpuUs / pairs,
    serverCpuUs: serverCpuUs / pairs,
  };
}

/**
 * Lets the peer's code be compiled: by pairs, not by time, since on a busy machine little happens in
 * a second. Many at once first, which warms it up sooner.
 * @param {import('../lib/peer-pair.mjs').PeerPair} pair
 * @param {{ inFlight: number, pairs: number, mostMs: number }} options
 */
export async function warmUp(pair, { inFlight, pairs, mostMs }) {
  const run = (options) => pair.first.call('throughput', 'run', { ...options, ms: mostMs });
  await run({ inFlight: 64, mostPairs: pairs });
  await run({ inFlight, mostPairs: pairs / 10 });
}
