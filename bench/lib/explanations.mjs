import { figure } from './format.mjs';
import { SLOW_SCRIPT_US } from './redis-probe.mjs';

/**
 * How the figures come about, in words that belong under them.
 * @param {any} report
 * @returns {string}
 */
export function explanations({ sizes, results }) {
  const ceiling = results.hotLock && Object.values(results.hotLock.summary)[0]?.ceiling;
  return [
    `- Every peer has two processes of its own, which live through the whole run; one Redis server serves all. A peer is warmed up, then measured in ${sizes.rounds} rounds in turn with the others (A B C, B C A, …). Figures are medians over the rounds; ratios among the targets are medians of the ratios of each round. The life of a lock is 30 s.`,
    '- *Sequential* and *64 in flight*: one process takes and releases locks that nobody else wants. Client CPU is the process’s user and system time, server CPU the server’s (`INFO cpu`).',
    '- *Hand-over*: one process holds, another has been waiting for 30 to 70 ms; from just before the release to the grant, both read from the machine’s one monotonic clock. Over all rounds together.',
    `- *Hot lock*: eight workers in each of two processes want one lock, hold it for a timer of 2 ms${ceiling ? ` (which alone would make ${figure(ceiling)} cycles/s)` : ''}, and rest for as long before they ask again. The first quarter of a round, in which the line forms, is left out. *Without a rest* a worker whose client polls takes the lock back before anybody else asks: many cycles, by one worker at a time. Order is that inside each process. Holds are checked not to overlap.`,
    '- *Round trips* and *commands* are what clients send. The server counts commands that scripts call alike, so a look with `MONITOR` at the start of the run tells, for each peer, which commands it sends and which its scripts call; the two never coincide, and `INFO commandstats` is read for the sent ones.',
    '- *Idle waiters*: sixteen over two processes, then a single one, while another holds the lock.',
    '- *A crowd on one lock*: on a server of its own, so many lock engines over four Node processes (one subscriber connection each) stand for as many processes; all wait for one lock that is held. *Looks* are the scripts that the server runs meanwhile, and their time is the server’s own. Then a hundred leases of 5 s are taken beside, the lock is let go, and up to a thousand times it changes hands: from just before the release to the grant in the next one. A lease that is lost meanwhile is not kept.',
    '- *423*: autocannon with 64 connections on one Nest and Fastify route without a lock, with one bare command to Redis, and with a lock that is held. CPU is the application’s.',
    '- *Where the CPU time goes*: one more round under V8’s sampling profiler, which counts each sample for the file of the running function; time without work is left out. The error of a refusal costs its stack trace; it is kept, since it tells who asked for the lock.',
    '- *Limits*: a fence, a line and Redis’s own clock cost four commands inside the scripts of a pair beyond SET, GET and DEL; the rows of *doclock’s scripts alone* have them without any engine, so no engine can be faster. A hand-over is two commands and a message between three processes; the limit’s row does just that. The limit of the 423 is one command to Redis and the exception of the framework.',
    '- *The lock stores*: every store on servers of its own, on this one machine and its disk, so only the ratios say something; two processes as for the peers. *No lock for* is the longest time between two grants of one lock around a `kill -9`, with one try after the other; it is the time that the servers need to agree, plus at most one `commandTimeoutMs`.',
    `- *Held leases*: CPU of the holding process over ${sizes.heldWindow === 1 ? 'a TTL' : 'a third of a TTL (one renewal of each lease)'}; timers are those that JavaScript has set since the first lease and that are alive; the longest script is the longest EVAL or EVALSHA in the server’s slow log (from ${SLOW_SCRIPT_US} µs on), by wall clock, so being put off its core counts: the longest PTTL, which takes a microsecond, tells how long that was in the same time; the life of every key is read about once a second with PTTL.`,
    ...overlapNotes(results),
  ].join('\n');
}

function overlapNotes({ hotLock }) {
  return Object.entries(hotLock?.rounds ?? {})
    .filter(([, rounds]) => rounds.some(({ overlaps }) => overlaps > 0))
    .map(
      ([id]) =>
        `- **Two workers of ${id} held the hot lock at the same time**: its figures there mean nothing.`,
    );
}
