import { setTimeout as delay } from 'node:timers/promises';
import type { RedisServer } from '../../../support/redis.js';
import { type Fault, storeFault } from '../fault.js';
import type { SeededRandom } from '../seeded-random.js';
import { TTL_MS } from '../timing.js';

/** Redis servers that choose another master by themselves when theirs has gone. */
export interface MasterGroup {
  /** How people call one: `master`. */
  readonly what: string;
  /** Picks one to be broken. */
  master(random: SeededRandom): Promise<Victim>;
  /** Resolves when everybody is in place again, and has everything. */
  whole(): Promise<void>;
}

/** A master that is about to be broken. */
export interface Victim {
  readonly server: RedisServer;
  /** Resolves when another one is in its place. */
  readonly replaced: () => Promise<unknown>;
}

/** A master that is killed, and one that is frozen; each until another one has taken over. Both may lose locks. */
export function failovers(group: MasterGroup): readonly Fault[] {
  const failover = (
    kind: string,
    harm: (master: RedisServer) => Promise<void>,
    repair: (master: RedisServer) => Promise<void>,
  ) =>
    storeFault(kind, async (random, journal) => {
      const noteLoss = () => journal.loss(kind, { losesLocks: true, losesFences: true });
      const { server, replaced } = await group.master(random);
      noteLoss();
      await harm(server);
      await replaced();
      noteLoss(); // what the old one had not passed on is gone
      await delay(random.whole(0, TTL_MS));
      noteLoss(); // until it hears of its successor, one that was frozen goes on
      await repair(server);
      await group.whole();
    });
  return [
    failover(
      `${group.what} killed`,
      (server) => server.kill(),
      (server) => server.restart(),
    ),
    failover(
      `${group.what} frozen`,
      (server) => server.pause(),
      (server) => server.resume(),
    ),
  ];
}
