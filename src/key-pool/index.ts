/** The door of the room for pools of API keys. */
export { fingerprintOf } from './fingerprint.js';
export { KeyPool, type KeyLease } from './key-pool.js';
export type { MemberState, PoolState, PoolTerms } from './pool-store.js';
export { LEAST_REST_MS, retryAfterMs } from './retry-after.js';
export { MemoryPoolStore } from './stores/memory/memory-pool-store.js';
export { RedisPoolStore } from './stores/redis/redis-pool-store.js';
