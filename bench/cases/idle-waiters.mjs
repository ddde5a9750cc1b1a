import { nowUs, pause } from '../lib/clock.mjs';

/** Until all have asked for the first time, in ms. */
const SETTLE_MS = 200;

let waiting = [];

/** In a peer's process. */
export const worker = {
  /** @param {import('../lib/peers.mjs').Peer} peer @param {{ name: string, waiters: number }} options */
  ask(peer, { name, waiters }) {
    waiting = Array.from({ length: waiters }, async () => {
      await peer.release(await peer.wait(name));
    });
    for (const one of waiting) one.catch(() => undefined); // `end` tells
  },
  /** When all have had their turn. */
  async end() {
    await Promise.all(waiting);
  },
};

/**
 * Commands that one waiter sends per second while somebody else holds the lock: half of the waiters
 * in the holder's process, half in the other; a single one in the other.
 * @param {import('../lib/tools.mjs').Tools} tools
 * @param {import('../lib/peer-pair.mjs').PeerPair} pair
 * @param {{ waiters: number, ms: number }} options
 */
export async function measureIdleWaiters({ sentOf }, { id, first, second }, { waiters, ms }) {
  const name = 'idle';
  const sent = sentOf(id);
  await first.call('handOver', 'hold', name);
  await second.call('idle', 'ask', { name, waiters: Math.ceil(waiters / 2) });
  await first.call('idle', 'ask', { name, waiters: Math.floor(waiters / 2) });
  await pause(SETTLE_MS);
  const before = await sent();
  const start = nowUs();
  await pause(ms);
  const commands = (await sent()) - before;
  const seconds = (nowUs() - start) / 1e6;
  await first.call('handOver', 'release');
  await Promise.all([first.call('idle', 'end'), second.call('idle', 'end')]);
  return { commandsPerSecond: commands / seconds / waiters };
}
