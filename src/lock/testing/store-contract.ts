import { administration } from './store-contract/administration.js';
import { type ContractCase } from './store-contract/contract-case.js';
import { holding } from './store-contract/holding.js';
import { waiting } from './store-contract/waiting.js';

export type { ContractCase, MortalClient, StoreUnderTest } from './store-contract/contract-case.js';

/** The promises that every lock store keeps, the memory store included. */
export const lockStoreContract: readonly ContractCase[] = [
  ...holding,
  ...waiting,
  ...administration,
];
