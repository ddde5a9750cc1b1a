/** The only door of the lock module, for features and for other teams. */
export { currentLease } from './core/lock-context.js';
export type { Lease, ReleaseOutcome } from './core/lease.js';
export { LockEventBus, type LockEvents } from './core/lock-events.js';
export {
  type AcquireOptions,
  LockManager,
  type LockManagerOptions,
  type LockState,
  type RunOptions,
} from './core/lock-manager.js';
export { lockName, LockName, type LockNameValue } from './core/lock-name.js';
export { DEFAULT_LOCK_OPTIONS, type LockOptions } from './core/lock-options.js';
export type * from './core/lock-store.js';
export {
  LockBusyError,
  LockError,
  type LockErrorCode,
  LockLostError,
  LockOptionsError,
  LockReentryError,
  LockUnavailableError,
  LockWaitTimeoutError,
  type LossCode,
} from './core/lock.errors.js';
export { assertHeld } from './core/shared-lease.js';
export { MemoryLockStore } from './stores/memory/memory-lock-store.js';
export { RedisLockStore, type RedisLockStoreOptions } from './stores/redis/redis-lock-store.js';
export { redisLockClientOptions } from './stores/redis/redis-client-options.js';
