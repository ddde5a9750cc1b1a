import { pause } from './clock.mjs';

/** Said by a client to open or mind its connection, or by the benchmark itself. */
const notCounted = new Set([
  'hello',
  'auth',
  'select',
  'client',
  'info',
  'monitor',
  'echo',
  'config',
]);

/** Longer than any peer's default retry delay. */
const ONE_POLL_MS = 400;

/**
 * The server counts a command alike whether a client sent it or a script called it. So watch once
 * which commands a peer sends and which its scripts call; the two sets are disjoint for every peer,
 * and from then on the server's counters of the sent ones are what clients send.
 *
 * @param {import('./redis-probe.mjs').RedisProbe} probe
 * @param {import('./peer-pair.mjs').PeerPair} pair
 * @returns {Promise<() => Promise<number>>} how many commands clients have sent so far
 */
export async function countSent(probe, pair) {
  const { sent, called } = await probe.watch(async () => {
    await pair.first.call('handOver', 'hold', 'calibration');
    await pair.second.call('handOver', 'ask', 'calibration');
    await pause(ONE_POLL_MS);
    await pair.first.call('handOver', 'release');
    await pair.second.call('handOver', 'granted');
  });
  const counted = [...sent].filter((command) => !notCounted.has(command));
  const both = counted.filter((command) => called.has(command));
  if (both.length > 0) {
    throw new Error(
      `${pair.id} sends ${both.join(', ')} and calls it in scripts too: its commands cannot be counted.`,
    );
  }
  const isCounted = (name) => counted.includes(name.split('|')[0]);
  return async () => {
    const calls = await probe.calls();
    return [...calls].reduce((sum, [name, count]) => sum + (isCounted(name) ? count : 0), 0);
  };
}
