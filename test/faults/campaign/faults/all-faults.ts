import type { Fault } from '../fault.js';
import { databaseFaults } from './database-faults.js';
import { networkFaults } from './network-faults.js';
import { replicaFaults } from './replica-faults.js';
import { storeFaults } from './store-faults.js';

/** Every way to break something that a campaign knows. */
export const allFaults: readonly Fault[] = [
  ...storeFaults,
  ...networkFaults,
  ...replicaFaults,
  ...databaseFaults,
];
