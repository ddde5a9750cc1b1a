/** The door of the room for idempotency keys. */
export {
  IdempotencyInProgressError,
  IdempotencyKeyInvalidError,
  IdempotencyKeyMissingError,
  IdempotencyKeyReusedError,
  IdempotencyMarkLostError,
  IdempotencyUnavailableError,
} from './idempotency.errors.js';
export { IdempotencyModule } from './idempotency.module.js';
export type { IdempotencyOptions } from './idempotency-options.js';
export type * from './idempotency-store.js';
export type { IdempotentOptions } from './idempotent-route.js';
export { Idempotent } from './idempotent.decorator.js';
export { MemoryIdempotencyStore } from './stores/memory/memory-idempotency-store.js';
export {
  RedisIdempotencyStore,
  type RedisIdempotencyStoreOptions,
} from './stores/redis/redis-idempotency-store.js';
export { recordAnswer } from './stores/sql/record-answer.js';
export { SqlIdempotencyStore } from './stores/sql/sql-idempotency-store.js';
