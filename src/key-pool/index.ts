/** The door of the room for pools of API keys. */
export { fingerprintOf } from './fingerprint.js';
export { KeyPool } from './key-pool.js';
export type { PoolTerms } from './pool-store.js';
export { RedisPoolStore } from './stores/redis/redis-pool-store.js';
