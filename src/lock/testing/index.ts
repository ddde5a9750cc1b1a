/** What tests of other stores, and of code that takes locks, need. */
export { type Fault, FaultyStore } from './faulty-store.js';
export { ManualClock, settle } from './manual-clock.js';
export {
  semaphoreContract,
  type SemaphoreCase,
  type SemaphoresUnderTest,
} from './semaphore-contract.js';
export {
  type ContractCase,
  lockStoreContract,
  type MortalClient,
  type StoreUnderTest,
} from './store-contract.js';
export { tickMarksContract, type TickMarksCase } from './tick-marks-contract.js';
