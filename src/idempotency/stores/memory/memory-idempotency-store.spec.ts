import { describe, it } from '@jest/globals';
import { idempotencyStoreContract } from '../../testing/idempotency-store-contract.js';
import { MemoryIdempotencyStore } from './memory-idempotency-store.js';

describe('MemoryIdempotencyStore keeps the contract', () => {
  it.each(idempotencyStoreContract)('$promise', ({ verify }) =>
    verify(new MemoryIdempotencyStore()),
  );
});
