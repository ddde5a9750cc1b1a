import { measureHandOvers, summarizeHandOvers } from '../cases/hand-over.mjs';
import { measureHeldLeases } from '../cases/held-leases.mjs';
import { measureHotLock, WORK_MS } from '../cases/hot-lock.mjs';
import { measureCrowd } from '../cases/crowd.mjs';
import { measureHttp } from '../cases/http.mjs';
import { measureIdleWaiters } from '../cases/idle-waiters.mjs';
import { measureThroughput, warmUp } from '../cases/throughput.mjs';
import { measureStores } from '../cases/stores.mjs';
import { interleave } from './rounds.mjs';
import { medians } from './statistics.mjs';

const IN_FLIGHT = 64;
const WAITERS = 16;
/** Of a crowd. */
const MOST_HAND_OVERS = 1_000;

/**
 * @typedef {object} Measured one case
 * @property {Record<string, any>} summary by peer (by route, by number of leases)
 * @property {Record<string, any[]>} rounds
 *
 * @typedef {object} Context
 * @property {import('./tools.mjs').Tools} tools
 * @property {readonly import('./peer-pair.mjs').PeerPair[]} pairs
 * @property {readonly (import('./peers.mjs').About & { id: string })[]} peers
 * @property {import('./settings.mjs').Sizes} sizes
 * @property {number} port of Redis
 */

/** @type {Record<string, (context: Context) => Promise<Measured>>} */
export const cases = {
  sequential: (context) => throughput(context, 1),
  inFlight: (context) => throughput(context, IN_FLIGHT),

  async handOver({ tools, pairs, sizes }) {
    const ms = sizes.handOverMs;
    const rounds = await interleave(pairs, sizes.rounds, (pair) =>
      measureHandOvers(tools, pair, { ms }),
    );
    return { summary: mapValues(rounds, summarizeHandOvers), rounds };
  },

  async hotLock({ tools, pairs: all, peers, sizes }) {
    const pairs = withoutFloor(all, peers);
    const rounds = await interleave(pairs, sizes.hotRounds, (pair) =>
      measureHotLock(tools, pair, { ms: sizes.hotMs, restMs: WORK_MS }),
    );
    const ceiling = await pairs[0].first.call('hotLock', 'ceiling', { ms: sizes.hotMs });
    const summary = mapValues(rounds, (all) => ({ ...medians(all), ceiling }));
    return { summary, rounds };
  },

  async greedyLock({ tools, pairs: all, peers, sizes }) {
    const pairs = withoutFloor(all, peers);
    const rounds = await interleave(pairs, sizes.greedyRounds, (pair) =>
      measureHotLock(tools, pair, { ms: sizes.hotMs, restMs: 0 }),
    );
    return { summary: mapValues(rounds, medians), rounds };
  },

  async idleWaiters({ tools, pairs: all, peers, sizes }) {
    const pairs = withoutFloor(all, peers);
    const ms = sizes.idleMs;
    const rounds = await interleave(pairs, 1, (pair) =>
      measureIdleWaiters(tools, pair, { waiters: WAITERS, ms }),
    );
    return { summary: mapValues(rounds, medians), rounds };
  },

  async loneWaiter({ tools, pairs: all, peers, sizes }) {
    const pairs = withoutFloor(all, peers);
    const chosen = sizes.peersHeld ? pairs : pairs.filter(({ id }) => id === 'doclock');
    const ms = sizes.loneIdleMs;
    const rounds = await interleave(chosen, 1, (pair) =>
      measureIdleWaiters(tools, pair, { waiters: 1, ms }),
    );
    return { summary: mapValues(rounds, medians), rounds };
  },

  async http({ port, sizes }) {
    const { rounds, shares } = await measureHttp(port, { rounds: sizes.rounds, ms: sizes.httpMs });
    return { summary: { ...medians(rounds), shares }, rounds: { http: rounds } };
  },

  async stores({ sizes }) {
    const summary = await measureStores(sizes);
    return { summary, rounds: summary };
  },

  async heldLeases({ tools, pairs, peers, sizes }) {
    const able = new Set(peers.filter(({ renews }) => renews).map(({ id }) => id));
    const chosen = pairs.filter(({ id }) => able.has(id) && (sizes.peersHeld || id === 'doclock'));
    const rounds = {};
    for (const { id } of chosen) rounds[id] = [];
    for (const { leases, ttlMs } of sizes.held) {
      for (const pair of chosen) {
        const ms = ttlMs * sizes.heldWindow;
        rounds[pair.id].push(await measureHeldLeases(tools, pair, { leases, ttlMs, ms }));
        await tools.probe.flush();
      }
    }
    return { summary: rounds, rounds };
  },

  async crowd({ sizes }) {
    const rows = [];
    for (const processes of sizes.crowds) {
      rows.push(
        await measureCrowd({ processes, idleMs: sizes.crowdMs, handOvers: MOST_HAND_OVERS }),
      );
    }
    return { summary: { doclock: rows }, rounds: { doclock: rows } };
  },

  /** The last one: a process that was profiled is slower from then on. */
  async profiles({ pairs, sizes }) {
    const ours = pairs.find(({ id }) => id === 'doclock');
    if (!ours) return { summary: {}, rounds: {} };
    const shares = (inFlight) =>
      ours.first.call('throughput', 'profile', { inFlight, ms: sizes.throughputMs });
    const summary = { sequential: await shares(1), inFlight: await shares(IN_FLIGHT) };
    return { summary, rounds: {} };
  },
};

async function throughput({ tools, pairs, sizes }, inFlight) {
  const { warmUpPairs, warmUpMostMs } = sizes;
  for (const pair of pairs) {
    await warmUp(pair, { inFlight, pairs: warmUpPairs, mostMs: warmUpMostMs });
  }
  const rounds = await interleave(pairs, sizes.rounds, (pair) =>
    measureThroughput(tools, pair, { inFlight, ms: sizes.throughputMs }),
  );
  return { summary: mapValues(rounds, medians), rounds };
}

/** Where many wait or work at once there is nothing to see without an engine. */
function withoutFloor(pairs, peers) {
  const floors = new Set(peers.filter(({ floor }) => floor).map(({ id }) => id));
  return pairs.filter(({ id }) => !floors.has(id));
}

const mapValues = (record, change) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
