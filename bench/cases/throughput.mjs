import { nowUs } from '../lib/clock.mjs';

/** Names that a worker goes through, so that no key is hot in any cache alone. */
const NAMES = 100;

/** In a peer's process. */
export const worker = {
  /**
   * Acquires and releases free locks for `ms`, `inFlight` of them at a time.
   * @param {import('../lib/peers.mjs').Peer} peer
   * @param {{ inFlight: number, ms: number }} options
   */
  async run(peer, { inFlight, ms }) {
    const cpu = process.cpuUsage();
    const start = nowUs();
    const end = start + ms * 1e3;
    let pairs = 0;
    const loop = async (_, index) => {
      for (let turn = 0; nowUs() < end; turn += 1) {
        const handle = await peer.acquire(`throughput:${index}:${turn % NAMES}`);
        await peer.release(handle);
        pairs += 1;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, loop));
    const { user, system } = process.cpuUsage(cpu);
    return { pairs, elapsedUs: nowUs() - start, clientCpuUs: user + system };
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
