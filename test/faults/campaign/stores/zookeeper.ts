import { setTimeout as delay } from 'node:timers/promises';
import { allNodes } from '../../../support/zookeeper-admin.js';
import { startZookeeper } from '../../../support/zookeeper.js';
import { processPause, storeFault } from '../fault.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';
import { portsFor, startLinks } from './links.js';

/** A session is a second longer than the TTL; servers end sessions in steps of a tick, and after an election later. */
const LONGEST_LIFE_MS = TTL_MS + 2_500;
const LOCK = /^\/locks\/lock:([^/]+)$/;

/** LOCK_STORE=zookeeper on an ensemble of three. Whatever becomes of one of them loses nothing. */
export const startZookeeperWorld: StartStore = async (terms) => {
  const zookeeper = await startZookeeper(3);
  terms.atEnd(() => zookeeper.stop());
  const ports = zookeeper.members.map(({ port }) => port);
  const links = await startLinks(terms, ports);
  return {
    settings: (replica) => ({
      LOCK_STORE: 'zookeeper',
      ZOOKEEPER_SERVERS: portsFor(links, replica, ports)
        .map((port) => `127.0.0.1:${port}`)
        .join(),
    }),
    links,
    faults: [
      storeFault('leader killed', async (random) => {
        const { server } = await zookeeper.leader();
        await server.end('SIGKILL');
        await delay(random.whole(500, 2 * TTL_MS));
        await server.spawn();
        await server.ready();
      }),
      storeFault('server frozen', async (random) => {
        const { server } = random.pick(zookeeper.members);
        server.pause();
        await delay(random.whole(500, 2 * TTL_MS));
        server.resume();
        await server.ready();
      }),
      processPause('session expired under a paused process', LONGEST_LIFE_MS),
    ],
    longestLifeMs: LONGEST_LIFE_MS,
    async locks() {
      const nodes = await allNodes(zookeeper.servers, '/locks');
      return nodes.flatMap(({ path, children }) => {
        const name = LOCK.exec(path)?.[1];
        return name !== undefined && children > 0 ? [{ name: decodeURIComponent(name) }] : [];
      });
    },
    async leftovers() {
      const nodes = await allNodes(zookeeper.servers, '/locks');
      // The empty node of a lock may stay where nobody was there to delete it; docs/stores.md says so.
      return nodes
        .filter(({ path, isEphemeral }) => !isEphemeral && path !== '/locks' && !LOCK.test(path))
        .map(({ path }) => `the node ${path} stays in ZooKeeper`);
    },
  };
};
