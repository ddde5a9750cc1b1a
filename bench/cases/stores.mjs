import { PeerPair } from '../lib/peer-pair.mjs';
import { quantile } from '../lib/statistics.mjs';
import { storeSetups } from '../lib/store-setups.mjs';
import { measureFailover } from './failover.mjs';
import { measureHandOvers } from './hand-over.mjs';

const IN_FLIGHT = 64;

/**
 * Every lock store on servers of its own, one after the other: pairs of acquire and release, hand-over
 * between two processes, and how long nobody gets a lock after a crash.
 * @param {import('../lib/settings.mjs').Sizes} sizes
 */
export async function measureStores({ throughputMs, handOverMs }) {
  const rows = {};
  for (const { id, start } of storeSetups) {
    const servers = await start();
    try {
      const pair = new PeerPair('store', { connect: servers.connect });
      try {
        await pair.ready();
        rows[id] = await measureStore(pair, servers, { throughputMs, handOverMs });
      } finally {
        await pair.stop();
      }
    } finally {
      await servers.stop();
    }
  }
  return rows;
}

async function measureStore(pair, { breakOne }, { throughputMs, handOverMs }) {
  const pairsPerSecond = async (inFlight) => {
    const run = (ms) => pair.first.call('throughput', 'run', { inFlight, ms });
    await run(throughputMs); // warm-up
    const { pairs, elapsedUs } = await run(throughputMs);
    return (pairs / elapsedUs) * 1e6;
  };
  const sequential = await pairsPerSecond(1);
  const inFlight = await pairsPerSecond(IN_FLIGHT);
  const handOvers = await measureHandOvers(undefined, pair, { ms: handOverMs });
  return {
    sequential,
    inFlight,
    handOverP50Ms: quantile(handOvers, 0.5),
    handOverP95Ms: quantile(handOvers, 0.95),
    failoverMs: breakOne && (await measureFailover(pair.first, breakOne)),
  };
}
