import { storeSetups } from './store-setups.mjs';
import { figure, percent, table } from './format.mjs';
import { cpuOwners } from './cpu-shares.mjs';
import { explanations } from './explanations.mjs';

/** The chart's file, beside the report. */
export const CHART = 'benchmarks.svg';

/**
 * The report as a page of Markdown.
 * @param {any} report
 * @returns {string}
 */
export function reportMarkdown(report) {
  const { machine } = report;
  const measured = (...names) => names.some((name) => report.results[name]);
  const parts = [
    '# Benchmarks',
    `Written by \`npm run bench${report.quick ? ' -- --quick' : ''}\`; do not edit by hand. How to run it, and what each column means: [bench/README.md](../bench/README.md).`,
    report.quick &&
      '**A quick run**: short rounds for a first look. `npm run bench` gives the figures to rely on.',
    machineTable(report),
    machine.loadBefore > machine.cores &&
      `**The machine was busy with other things** (load ${machine.loadBefore} on ${machine.cores} cores before the run began). Rounds are interleaved, so ratios hold better than absolute figures.`,
    '## Targets',
    targetsTable(report),
    '## Side by side',
    `![Chart of the main figures](${CHART})`,
    measured('sequential', 'inFlight') && throughputTable(report),
    measured('handOver', 'hotLock', 'greedyLock', 'idleWaiters', 'loneWaiter') &&
      waitingTable(report),
    report.results.http && '## 423 over HTTP',
    report.results.http && httpTable(report),
    measured('profiles', 'http') && '## Where the CPU time of doclock goes',
    measured('profiles', 'http') && sharesTable(report),
    report.results.heldLeases && '## Held leases',
    report.results.heldLeases && heldTable(report),
    report.results.crowd && '## A crowd on one lock',
    report.results.crowd && crowdTable(report),
    report.results.stores && '## The lock stores',
    report.results.stores && storesTable(report),
    '## Settings of each peer',
    settingsTable(report),
    '## How it is measured',
    explanations(report),
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

function machineTable({ machine, seconds }) {
  return table(
    ['', 'measured on'],
    [
      ['date', machine.date],
      ['commit', machine.commit ?? '–'],
      ['processor', `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB`],
      ['system', machine.system],
      ['Node', machine.node],
      ['Redis', `${machine.redis}, on loopback, no persistence`],
      ['load before / after', `${machine.loadBefore} / ${machine.loadAfter}`],
      ['duration', `${seconds} s`],
    ],
    'text',
  );
}

function targetsTable({ targets }) {
  const verdict = { true: 'met', false: '**not met**', undefined: '' };
  return table(
    ['target', 'wanted', 'measured', ''],
    targets.map(({ what, wanted, measured, met }) => [what, wanted, measured, verdict[met]]),
    'text',
  );
}

function throughputTable({ peers, results }) {
  return table(
    [
      '',
      'sequential /s',
      'client CPU / pair',
      'server CPU / pair',
      '64 in flight /s',
      'client CPU / pair',
      'server CPU / pair',
    ],
    peers.map(({ id, title }) => [
      title,
      ...['sequential', 'inFlight'].flatMap((name) => {
        const row = results[name]?.summary[id];
        return [
          figure(row?.pairsPerSecond),
          figure(row?.clientCpuUs, ' µs'),
          figure(row?.serverCpuUs, ' µs'),
        ];
      }),
    ]),
  );
}

function waitingTable({ peers, results }) {
  return table(
    [
      '',
      'hand-over p50 / p95',
      'hot lock, cycles/s',
      'rarest worker / most frequent',
      'longest wait / mean',
      'out of order',
      'round trips / cycle',
      'without a rest: cycles/s, rarest worker',
      'commands/s per idle waiter',
      'alone',
    ],
    peers.map(({ id, title }) => {
      const hand = results.handOver?.summary[id];
      const hot = results.hotLock?.summary[id];
      const greedy = results.greedyLock?.summary[id];
      return [
        title,
        `${figure(hand?.p50Ms)} / ${figure(hand?.p95Ms)} ms`,
        figure(hot?.cyclesPerSecond),
        figure(hot?.leastOfMostWorker),
        figure(hot?.longestOfMeanWait),
        percent(hot?.overtakenPart),
        figure(hot?.roundTrips),
        `${figure(greedy?.cyclesPerSecond)}, ${figure(greedy?.leastOfMostWorker)}`,
        figure(results.idleWaiters?.summary[id]?.commandsPerSecond),
        figure(results.loneWaiter?.summary[id]?.commandsPerSecond),
      ];
    }),
  );
}

function httpTable({ results }) {
  const { open, asked, locked, openCpuUs, askedCpuUs, lockedCpuUs } = results.http.summary;
  return table(
    ['route', 'answers/s', 'CPU / answer'],
    [
      ['without a lock, 201', figure(open), figure(openCpuUs, ' µs')],
      [
        'one bare SET NX per request, held by somebody else, 423',
        figure(asked),
        figure(askedCpuUs, ' µs'),
      ],
      ['`@WithLock`, held by somebody else, 423', figure(locked), figure(lockedCpuUs, ' µs')],
    ],
  );
}

/** One look at each: what the targets that are out of reach are made of. */
function sharesTable({ results: { profiles, http } }) {
  const looks = [profiles?.summary.sequential, profiles?.summary.inFlight, http?.summary.shares];
  return table(
    ['whose code', 'sequential', '64 in flight', 'a 423 over HTTP'],
    cpuOwners.map((owner) => [
      owner,
      ...looks.map((shares) => (shares ? percent(shares[owner] ?? 0) : '–')),
    ]),
  );
}

function heldTable({ peers, results }) {
  const { summary } = results.heldLeases;
  return table(
    [
      '',
      'leases',
      'TTL',
      'CPU of one core',
      'timers',
      'scripts, of the server’s time',
      'longest script (95th percentile of the slow ones)',
      'lowest life, of the TTL',
    ],
    peers.flatMap(({ id, title }) =>
      (summary[id] ?? []).map((row) => [
        title,
        figure(row.leases),
        figure(row.ttlMs / 1e3, ' s'),
        percent(row.cpuPart),
        figure(row.timers),
        percent(row.serverPart),
        row.slowScripts === 0
          ? '< 0.05 ms'
          : `${figure(row.longestScriptMs)} (${figure(row.p95ScriptMs)}) ms`,
        percent(row.lowestLifePart),
      ]),
    ),
  );
}

function crowdTable({ results }) {
  return table(
    [
      'processes that wait',
      'looks/s',
      'server time / look',
      'server while idle, of one core',
      'hand-over p50 / p95',
      'unrelated leases kept',
    ],
    results.crowd.summary.doclock.map((row) => [
      figure(row.processes),
      figure(row.looksPerSecond),
      figure(row.lookUs, ' µs'),
      percent(row.serverPart),
      `${figure(row.handOverP50Ms)} / ${figure(row.handOverP95Ms)} ms`,
      `${row.keptLeases} of ${row.unrelated}`,
    ]),
  );
}

function storesTable({ results }) {
  return table(
    ['', 'sequential /s', '64 in flight /s', 'hand-over p50 / p95', 'no lock for', 'servers'],
    storeSetups.map(({ id, title, servers, broken }) => {
      const row = results.stores.summary[id];
      return [
        title,
        figure(row.sequential),
        figure(row.inFlight),
        `${figure(row.handOverP50Ms)} / ${figure(row.handOverP95Ms)} ms`,
        broken ? `${figure(row.failoverMs)} ms (${broken} killed)` : '–',
        servers,
      ];
    }),
  );
}

function settingsTable({ peers, pollMs }) {
  return table(
    ['', 'version', 'settings'],
    peers.map(({ title, package: name, version, driver, driverVersion, settings }) => {
      const client = driver ? `, ${driver.replace(/-\d+$/, '')} ${driverVersion}` : '';
      const poll = pollMs === undefined ? '' : ` (here: retry delay ${pollMs} ms)`;
      return [title, `${name} ${version}${client}`, settings + poll];
    }),
    'text',
  );
}
