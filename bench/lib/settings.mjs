import { parseArgs } from 'node:util';

/**
 * @typedef {object} Settings
 * @property {boolean} quick a run under two minutes, for a first look
 * @property {string | undefined} json where all figures go
 * @property {boolean} docs whether docs/benchmarks.md and .svg are written
 * @property {number | undefined} pollMs retry delay for every peer that polls, instead of its default
 * @property {string[] | undefined} peers only these
 * @property {string[] | undefined} cases only these
 * @property {Sizes} sizes
 */

/**
 * How long and how often things are measured. All durations in ms.
 * @typedef {object} Sizes
 * @property {number} rounds of each case, interleaved over the peers
 * @property {number} hotRounds of the hot lock, whose line takes time to empty
 * @property {number} greedyRounds of the hot lock without a rest; 0 leaves it out
 * @property {number} warmUpPairs by which a peer's code is warm
 * @property {number} warmUpMostMs
 * @property {number} throughputMs
 * @property {number} handOverMs
 * @property {number} hotMs
 * @property {number} idleMs sixteen waiters
 * @property {number} loneIdleMs one waiter; long enough for its safety timer
 * @property {number} httpMs
 * @property {readonly { leases: number, ttlMs: number }[]} held
 * @property {number} heldWindow how long leases are watched, as a part of their TTL
 * @property {readonly number[]} crowds processes that wait for one lock
 * @property {number} crowdMs of idle waiting
 * @property {boolean} peersHeld whether peers hold leases too, and wait alone
 */

/** @type {Sizes} */
const full = {
  rounds: 5,
  hotRounds: 5,
  greedyRounds: 2,
  warmUpPairs: 50_000,
  warmUpMostMs: 10_000,
  throughputMs: 2_000,
  handOverMs: 4_000,
  hotMs: 4_000,
  idleMs: 6_000,
  loneIdleMs: 9_000,
  httpMs: 3_000,
  held: [
    { leases: 1, ttlMs: 9_000 },
    { leases: 1_000, ttlMs: 9_000 },
    { leases: 20_000, ttlMs: 30_000 },
  ],
  heldWindow: 1,
  crowds: [10, 100, 1_000, 5_000],
  crowdMs: 10_000,
  peersHeld: true,
};

/** @type {Sizes} */
const quick = {
  ...full,
  rounds: 3,
  hotRounds: 2,
  greedyRounds: 0,
  warmUpPairs: 10_000,
  warmUpMostMs: 2_000,
  throughputMs: 250,
  handOverMs: 450,
  hotMs: 800,
  idleMs: 1_000,
  loneIdleMs: 3_500,
  httpMs: 500,
  held: [
    { leases: 1, ttlMs: 6_000 },
    { leases: 1_000, ttlMs: 6_000 },
    { leases: 20_000, ttlMs: 30_000 },
  ],
  heldWindow: 1 / 3,
  crowds: [10, 1_000],
  crowdMs: 4_000,
  peersHeld: false,
};

/**
 * @param {string[]} args
 * @returns {Settings}
 */
export function readSettings(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      poll: { type: 'string' },
      peers: { type: 'string' },
      cases: { type: 'string' },
      'no-docs': { type: 'boolean', default: false },
    },
  });
  const pollMs = values.poll === undefined ? undefined : Number(values.poll);
  if (pollMs !== undefined && !(pollMs >= 1)) {
    throw new Error(`--poll is ${values.poll}; it must be a number of milliseconds from 1 on.`);
  }
  return {
    quick: values.quick,
    json: values.json,
    // A part of the columns would replace the whole table.
    docs: !values['no-docs'] && !values.peers && !values.cases && pollMs === undefined,
    pollMs,
    peers: values.peers?.split(','),
    cases: values.cases?.split(','),
    sizes: values.quick ? quick : full,
  };
}
