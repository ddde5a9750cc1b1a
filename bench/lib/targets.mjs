import { figure } from './format.mjs';
import { medianRatio } from './statistics.mjs';

/**
 * @typedef {object} Target
 * @property {string} what
 * @property {string} wanted
 * @property {number | undefined} value undefined where it was not measured in this run
 * @property {string} measured the value for people
 * @property {boolean | undefined} met undefined where it was not measured
 */

const words = {
  'at least': (value, limit) => value >= limit,
  'at most': (value, limit) => value <= limit,
  above: (value, limit) => value > limit,
  below: (value, limit) => value < limit,
};

/**
 * The targets of the lock engine, all computed from the figures of one run.
 * @param {Record<string, import('./measure.mjs').Measured>} results
 * @param {readonly { id: string, title: string, baseline?: boolean }[]} peers
 * @returns {Target[]}
 */
export function judgeTargets(results, peers) {
  const others = peers.filter(({ id, floor }) => id !== 'doclock' && !floor);
  const libraries = others.filter(({ baseline }) => !baseline);
  const ours = (name) => results[name]?.summary.doclock;
  const hand = ours('handOver');
  const hot = ours('hotLock');
  const held = ours('heldLeases')?.find(({ leases }) => leases === 20_000);
  const crowds = ours('crowd');
  const crowd = crowds?.find(({ processes }) => processes === 5_000);
  const few = crowds?.find(({ processes }) => processes === 10);
  const asked = ['idleWaiters', 'loneWaiter'].map((name) => ours(name)?.commandsPerSecond);
  const flight = closest(results.inFlight, 'pairsPerSecond', libraries);
  const cycles = closest(results.hotLock, 'cyclesPerSecond', others);
  const piped = toBaseline(results.inFlight, 'ioredis-autopipelined');
  const plain = toBaseline(results.sequential, 'ioredis-plain');
  const floor = floors(results);
  const hotOne = (what) => `One hot lock, ${what}`;
  const crowdOf = (what) => `5 000 processes wait for one lock, ${what}`;
  const heldOnes = (what) => `20 000 held leases, ${what}`;

  return [
    target('64 in flight, of plain ioredis autopipelined', 'at least', 0.9, piped.ratio, piped.cpu),
    target('64 in flight, of the fastest library', 'above', 1, flight.ratio, flight.of),
    target('Sequential, of plain ioredis, fence included', 'at least', 0.9, plain.ratio, plain.cpu),
    limit('its limit: the scripts alone, of plain ioredis', floor.sequential),
    target('Hand-over between processes, p50', 'at most', 1, hand?.p50Ms, 'ms'),
    limit('its limit: the scripts alone', floor.handOverMs, ' ms'),
    target('Hand-over between processes, p95', 'at most', 3, hand?.p95Ms, 'ms'),
    target('Commands/s per idle waiter, among sixteen', 'at most', 0.5, asked[0]),
    target('Commands/s per idle waiter, alone', 'at most', 0.5, asked[1]),
    target(hotOne('two holders at once'), 'at most', 0, overlaps(results.hotLock)),
    target(hotOne('cycles/s of the fastest peer'), 'at least', 1, cycles.ratio, cycles.of),
    target(hotOne('one process of the other'), 'at least', 0.95, hot?.leastOfMostProcess),
    target(hotOne('rarest worker of the most frequent'), 'at least', 0.9, hot?.leastOfMostWorker),
    target(hotOne('grants out of order'), 'at most', 0, scaled(hot?.overtakenPart), '%'),
    target(hotOne('round trips per cycle'), 'at most', 5, hot?.roundTrips),
    target(hotOne('longest wait of the mean'), 'at most', 1.5, hot?.longestOfMeanWait),
    target(heldOnes('timers'), 'at most', 1, held?.timers),
    target(heldOnes('CPU of one core'), 'below', 5, scaled(held?.cpuPart), '%'),
    target(heldOnes('longest script'), 'at most', 2, held?.longestScriptMs, 'ms'),
    limit('beside it: the longest PTTL, of a microsecond', held?.longestTrifleMs, ' ms'),
    target(heldOnes('lowest life of the TTL'), 'at least', 50, scaled(held?.lowestLifePart), '%'),
    target(crowdOf('hand-over, p95'), 'below', 5, crowd?.handOverP95Ms, 'ms'),
    target(crowdOf('server, of one core'), 'below', 20, scaled(crowd?.serverPart), '%'),
    target(crowdOf('unrelated leases kept, of 100'), 'at least', 100, crowd?.keptLeases),
    target(
      crowdOf('cost of a look, of that at 10'),
      'at most',
      2,
      crowd && few && crowd.lookUs / few.lookUs,
    ),
    target(
      '423 over HTTP, of the route without a lock',
      'at least',
      0.5,
      httpRatio(results.http),
      httpCpu(results.http),
    ),
    limit('its limit: the same answer after one bare question', httpRatio(results.http, 'asked')),
  ].filter(Boolean);
}

/**
 * @param {string} what
 * @param {keyof typeof words} word
 * @param {number} limit
 * @param {number | undefined} value
 * @param {string} [unit] after both figures; a remark ("of …", "(…)") after the measured one alone
 * @returns {Target}
 */
function target(what, word, limit, value, unit = '') {
  const wanted = [word, limit, /^(?:of |\()/.test(unit) ? '' : unit].join(' ').trim();
  if (value === undefined) return { what, wanted, value, measured: 'not measured', met: undefined };
  const shown = Number(value.toFixed(Math.abs(value) < 1 ? 3 : 2));
  return {
    what,
    wanted,
    value,
    measured: `${shown} ${unit}`.trim(),
    met: words[word](value, limit),
  };
}

const scaled = (part) => (part === undefined ? undefined : part * 100);

function ratio(measured, id, field) {
  const { doclock, [id]: theirs } = measured?.rounds ?? {};
  return doclock && theirs ? medianRatio(doclock, theirs, field) : undefined;
}

/** How often a hold began before the one before had ended, over all rounds. */
function overlaps(measured) {
  return measured?.rounds.doclock?.reduce((sum, round) => sum + round.overlaps, 0);
}

/** Our ratio to a baseline, and what both cost the client: a busy machine disturbs that less. */
function toBaseline(measured, id) {
  const cpu = ratio(measured, id, 'clientCpuUs');
  return {
    ratio: ratio(measured, id, 'pairsPerSecond'),
    cpu: cpu && `(with ${Number(cpu.toFixed(2))} of its client CPU per pair)`,
  };
}

/** Our ratio to the peer to which it is lowest, and that peer. */
function closest(measured, field, peers) {
  const all = peers
    .map(({ id, title }) => ({ ratio: ratio(measured, id, field), of: `of ${title}` }))
    .filter((one) => one.ratio !== undefined);
  return all.sort((a, b) => a.ratio - b.ratio)[0] ?? { ratio: undefined, of: '' };
}

/** What stands in the table beside a target that is out of reach: no target itself. */
function limit(what, value, unit = '') {
  if (value === undefined) return undefined;
  return {
    what: `– ${what}`,
    wanted: '',
    value,
    measured: `${figure(value)}${unit}`,
    met: undefined,
  };
}

/** What doclock's own scripts leave possible, without any engine around them. */
function floors(results) {
  const { 'doclock-scripts': alone, 'ioredis-plain': plain } = results.sequential?.rounds ?? {};
  return {
    sequential: alone && plain && medianRatio(alone, plain, 'pairsPerSecond'),
    handOverMs: results.handOver?.summary['doclock-scripts']?.p50Ms,
  };
}

/** The same by CPU time, which a busy machine disturbs less. */
function httpCpu(measured) {
  if (!measured) return undefined;
  const { openCpuUs, lockedCpuUs } = measured.summary;
  return `(${figure(openCpuUs / lockedCpuUs)} by CPU time)`;
}

function httpRatio(measured, route = 'locked') {
  if (!measured) return undefined;
  const only = (name) => measured.rounds.http.map((round) => ({ answers: round[name] }));
  return medianRatio(only(route), only('open'), 'answers');
}
