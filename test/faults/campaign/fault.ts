import type { SteppedClock } from '../../support/clock-shift.js';
import type { FaultProxy } from '../../support/fault-proxy.js';
import type { PostgresServer } from '../../support/postgres.js';
import type { Journal } from './journal.js';
import type { Replica } from './replica.js';
import type { SeededRandom } from './seeded-random.js';

/** What two faults at once must not have in common. */
export type Domain = 'store' | 'network' | 'replica' | 'database' | 'model';

/** What can be broken whatever the lock store is. */
export interface Breakable {
  readonly replicas: readonly Replica[];
  /** Of the replicas, one each; empty where clocks cannot be moved, or the audit lives by them. */
  readonly clocks: readonly SteppedClock[];
  /** Of each replica, the proxies on its way to the lock store's servers. */
  readonly links: readonly (readonly FaultProxy[])[];
  readonly postgres: PostgresServer | undefined;
  /** The folder of the SQLite database where it is a small disk of its own, which can be filled. */
  readonly disk: string | undefined;
}

/** A way to break something on purpose. */
export interface Fault {
  readonly kind: string;
  readonly domain: Domain;
  /** False, where it cannot be done in this world; always possible where it is absent. */
  isPossible?(world: Breakable): boolean;
  /** Breaks it, leaves it broken for a while, and repairs it. Resolves when it is repaired. */
  inject(world: Breakable, random: SeededRandom, journal: Journal): Promise<void>;
}

/** A way to break the servers of a lock store. */
export function storeFault(
  kind: string,
  harm: (random: SeededRandom, journal: Journal) => Promise<void>,
): Fault {
  return { kind, domain: 'store', inject: (_world, random, journal) => harm(random, journal) };
}

/** A replica that stands still for longer than `ms`, by which all of its locks must be gone. */
export function processPause(kind: string, ms: number): Fault {
  return {
    kind,
    domain: 'replica',
    inject: ({ replicas }, random) => random.pick(replicas).freeze(random.whole(ms + 500, 3 * ms)),
  };
}
