import { nowUs, pause } from '../lib/clock.mjs';

const NAME = 'failover';
/** Between two tries. */
const REST_MS = 5;
/** How long everything must work before and after. */
const CALM_MS = 1_000;
const GIVE_UP_MS = 60_000;

let running;

/** In a peer's process. */
export const worker = {
  /** Takes and gives back one lock, again and again, with one try each; notes when it was granted. */
  begin(peer) {
    running = { grants: [], stopped: false };
    running.ended = (async () => {
      while (!running.stopped) {
        try {
          const handle = await peer.acquire(NAME);
          running.grants.push(nowUs());
          await peer.release(handle);
        } catch {
          // Unavailable, or still held by a try whose answer was lost: what is measured.
        }
        await pause(REST_MS);
      }
    })();
  },
  /** How many grants there were so far after an instant. */
  since: (_peer, instantUs) => running.grants.filter((grant) => grant > instantUs).length,
  async end() {
    running.stopped = true;
    await running.ended;
    return running.grants;
  },
};

/**
 * How long nobody gets a lock when a server dies, in ms: the longest time between two grants of one lock
 * around the crash.
 * @param {import('../lib/peer-process.mjs').PeerProcess} process
 * @param {(name: string) => Promise<unknown>} breakOne
 */
export async function measureFailover(process, breakOne) {
  await process.call('failover', 'begin');
  await pause(CALM_MS);
  const brokenUs = nowUs();
  await breakOne(NAME);
  const mustEnd = nowUs() + GIVE_UP_MS * 1e3;
  const calm = CALM_MS / REST_MS / 10;
  while ((await process.call('failover', 'since', brokenUs + CALM_MS * 1e3)) < calm) {
    if (nowUs() > mustEnd) throw new Error(`No lock within ${GIVE_UP_MS} ms of a crash.`);
    await pause(REST_MS);
  }
  const grants = await process.call('failover', 'end');
  let longest = 0;
  for (let at = 1; at < grants.length; at += 1) {
    if (grants[at] > brokenUs) longest = Math.max(longest, grants[at] - grants[at - 1]);
  }
  return longest / 1e3;
}
