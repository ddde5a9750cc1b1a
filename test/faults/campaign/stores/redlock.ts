import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '../../../support/redis.js';
import { storeFault } from '../fault.js';
import type { SeededRandom } from '../seeded-random.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';
import { portsFor, startLinks } from './links.js';
import { leftoversOn, locksOn } from './redis-keys.js';

const NODES = 5;

/** LOCK_STORE=redlock on five masters without persistence. Whatever becomes of two of them loses nothing. */
export const startRedlockWorld: StartStore = async (terms) => {
  const nodes = await Promise.all(
    Array.from({ length: NODES }, async () => {
      const server = await startRedis();
      terms.atEnd(() => server.stop());
      return server;
    }),
  );
  const ports = nodes.map(({ port }) => port);
  const links = await startLinks(terms, ports);
  const all = [...nodes.keys()];
  const minority = (random: SeededRandom) =>
    random.shuffled(all).slice(0, random.whole(1, Math.floor(NODES / 2)));
  const restarted = async (random: SeededRandom, downMs: number) => {
    const victims = minority(random).map((index) => nodes[index]!);
    await Promise.all(victims.map((node) => node.kill()));
    await delay(downMs);
    await Promise.all(victims.map((node) => node.restart()));
  };
  return {
    settings: (replica) => ({
      LOCK_STORE: 'redlock',
      REDLOCK_URLS: portsFor(links, replica, ports)
        .map((port) => `redis://127.0.0.1:${port}`)
        .join(),
      REDLOCK_MAX_CLOCK_SKEW_MS: '1000', // one machine, one clock: what has restarted votes again soon
    }),
    links,
    faults: [
      storeFault('minority of nodes killed', (random) =>
        restarted(random, random.whole(500, 2 * TTL_MS)),
      ),
      storeFault('minority of nodes restarted empty', (random) => restarted(random, 0)),
      storeFault('minority of nodes frozen', async (random) => {
        const victims = minority(random).map((index) => nodes[index]!);
        await Promise.all(victims.map((node) => node.pause()));
        await delay(random.whole(500, 2 * TTL_MS));
        await Promise.all(victims.map((node) => node.resume()));
      }),
      storeFault('minority of nodes slow', async (random) => {
        const ways = minority(random).flatMap((index) =>
          links.map((ofReplica) => ofReplica[index]!),
        );
        for (const way of ways) way.addLatency(random.pick([30, 120, 400, 1_500]));
        await delay(random.whole(1_000, 2 * TTL_MS));
        for (const way of ways) {
          way.resetConnections(); // what is still under way must not overtake what comes
          await way.pass();
        }
      }),
    ],
    longestLifeMs: TTL_MS,
    locks: () => locksOn(nodes),
    leftovers: () => leftoversOn(nodes),
  };
};
