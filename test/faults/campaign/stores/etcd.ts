import { setTimeout as delay } from 'node:timers/promises';
import { type EtcdMember, startEtcd } from '../../../support/etcd.js';
import { processPause, storeFault } from '../fault.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';
import { portsFor, startLinks } from './links.js';

/** The leader looks for leases that are over twice a second, and waits for those of before its election. */
const LONGEST_LIFE_MS = TTL_MS + 1_500;
/** No lease of ours is longer: that of a place in the line, of a message to a process, or of a lock. */
const LONGEST_LEASE_MS = 60_000;
const PREFIX = 'lock:';

/** LOCK_STORE=etcd on three members. Whatever becomes of one of them loses nothing. */
export const startEtcdWorld: StartStore = async (terms) => {
  const etcd = await startEtcd(3);
  terms.atEnd(() => etcd.stop());
  const ports = etcd.members.map(({ port }) => port);
  const links = await startLinks(terms, ports);
  const restarted = async ({ server }: EtcdMember, signal: 'SIGKILL' | 'SIGTERM', ms: number) => {
    await server.end(signal);
    await delay(ms);
    await server.spawn();
    await server.ready();
  };
  const keys = async () => {
    const { kvs = [] } = JSON.parse(
      await etcd.ctl('get', '', '--from-key', '--keys-only', '-w', 'json'),
    ) as { kvs?: { key: string; lease?: number }[] };
    return kvs.map(({ key, lease }) => ({ key: Buffer.from(key, 'base64').toString(), lease }));
  };
  return {
    settings: (replica) => ({
      LOCK_STORE: 'etcd',
      ETCD_ENDPOINTS: portsFor(links, replica, ports)
        .map((port) => `http://127.0.0.1:${port}`)
        .join(),
    }),
    links,
    faults: [
      storeFault('leader killed', async (random) =>
        restarted(await etcd.leader(), 'SIGKILL', random.whole(500, 2 * TTL_MS)),
      ),
      storeFault('leader frozen', async (random) => {
        const { server } = await etcd.leader();
        server.pause();
        await delay(random.whole(500, 2 * TTL_MS));
        server.resume();
        await server.ready();
      }),
      storeFault('member restarted', (random) =>
        restarted(random.pick(etcd.members), 'SIGTERM', random.whole(0, 1_000)),
      ),
      processPause('process paused beyond its lease', LONGEST_LIFE_MS),
    ],
    longestLifeMs: LONGEST_LIFE_MS,
    async locks() {
      return (await keys())
        .filter(({ key }) => key.startsWith(PREFIX))
        .map(({ key }) => ({ name: key.slice(PREFIX.length, key.lastIndexOf('/')) }));
    },
    async leftovers() {
      const lasting = (await keys()).filter(({ lease }) => !lease);
      const long = (await etcd.leases()).filter((ttlMs) => ttlMs > LONGEST_LEASE_MS);
      return [
        ...lasting.map(({ key }) => `the key ${key} stays in etcd: it has no lease`),
        ...long.map((ttlMs) => `a lease of ${ttlMs} ms stays in etcd`),
      ];
    },
  };
};
