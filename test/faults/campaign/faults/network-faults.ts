import { setTimeout as delay } from 'node:timers/promises';
import type { FaultProxy } from '../../../support/fault-proxy.js';
import type { Domain, Fault } from '../fault.js';
import type { SeededRandom } from '../seeded-random.js';
import { TTL_MS } from '../timing.js';

const domain: Domain = 'network';

/** Between one replica, or two, and some or all servers of the lock store. */
function onTheWay(
  kind: string,
  harm: (proxy: FaultProxy, random: SeededRandom) => Promise<void>,
): Fault {
  return {
    kind,
    domain,
    isPossible: ({ links }) => links.length > 0,
    async inject({ links }, random) {
      const ofReplicas = random.shuffled(links).slice(0, random.whole(1, 2));
      const victims = ofReplicas.flatMap((ways) =>
        random.shuffled(ways).slice(0, random.whole(1, ways.length)),
      );
      await Promise.all(victims.map((proxy) => harm(proxy, random)));
      // No connection goes on after bytes in its middle were lost: that is what TCP is for.
      for (const proxy of victims) proxy.resetConnections();
      await Promise.all(victims.map((proxy) => proxy.pass()));
    },
  };
}

/** What goes wrong between replicas and the lock store. */
export const networkFaults: readonly Fault[] = [
  onTheWay('dropped replies', async (proxy, random) => {
    proxy.dropReplies();
    await delay(random.whole(300, 2 * TTL_MS));
  }),
  onTheWay('lost reply and cut', async (proxy, random) => {
    for (let times = random.whole(2, 5); times > 0; times -= 1) {
      await Promise.race([proxy.dropNextReplyThenCut(), delay(2_000)]);
      await delay(random.whole(20, 300));
    }
  }),
  onTheWay('half-open sockets', async (proxy, random) => {
    proxy.blackHole();
    await delay(random.whole(1_000, 4 * TTL_MS));
  }),
  onTheWay('resets', async (proxy, random) => {
    for (let times = random.whole(2, 8); times > 0; times -= 1) {
      proxy.resetConnections();
      await delay(random.whole(20, 500));
    }
  }),
  onTheWay('refused connections', async (proxy, random) => {
    await proxy.refuse();
    await delay(random.whole(500, 2 * TTL_MS));
  }),
  onTheWay('latency', async (proxy, random) => {
    proxy.addLatency(random.pick([20, 100, 450, 1_500]));
    await delay(random.whole(1_000, 2 * TTL_MS));
  }),
];
