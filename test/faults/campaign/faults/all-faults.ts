import type { Fault } from '../fault.js';
import type { World } from '../world.js';
import { databaseFaults } from './database-faults.js';
import { networkFaults } from './network-faults.js';
import { replicaFaults } from './replica-faults.js';

/** Every way to break something in this world. */
export function allFaults(world: World): readonly Fault[] {
  return [...world.store.faults, ...networkFaults, ...replicaFaults, ...databaseFaults].filter(
    (fault) => fault.isPossible?.(world) ?? true,
  );
}
