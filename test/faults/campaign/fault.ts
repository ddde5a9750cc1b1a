import type { Journal } from './journal.js';
import type { SeededRandom } from './seeded-random.js';
import type { World } from './world.js';

/** What two faults at once must not have in common. */
export type Domain = 'store' | 'network' | 'replica' | 'database';

/** A way to break something on purpose. */
export interface Fault {
  readonly kind: string;
  readonly domain: Domain;
  /** False, where it cannot be done in this world. */
  isPossible(world: World): boolean;
  /** Breaks it, leaves it broken for a while, and repairs it. Resolves when it is repaired. */
  inject(world: World, random: SeededRandom, journal: Journal): Promise<void>;
}
