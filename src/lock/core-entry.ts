/** The door for plain Node (`doclock/core`): the engine and its stores; knows no Nest. */
export { type CancelTimer, type Clock, type Instant, SystemClock } from './core/clock.js';
export type { FenceOptions } from './core/fence-rule.js';
export { currentLease } from './core/lock-context.js';
export type { Lease, ReleaseOutcome } from './core/lease.js';
export { LeaseSet } from './core/lease-set.js';
export type { LockState, RevokeOutcome } from './core/lock-admin.js';
export type { LockEvents } from './core/lock-events.js';
export {
  type AcquireOptions,
  LockManager,
  type LockManagerOptions,
  type LockNames,
  type RunOptions,
} from './core/lock-manager.js';
export { lockName, LockName, type LockNameValue } from './core/lock-name.js';
export { DEFAULT_LOCK_OPTIONS, type LockOptions } from './core/lock-options.js';
export type * from './core/lock-store.js';
export { Semaphore, type SemaphoreHolder } from './core/semaphore.js';
export {
  LockBusyError,
  LockClosedError,
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
export { EtcdLockStore, type EtcdLockStoreOptions } from './stores/etcd/etcd-lock-store.js';
export { MemoryLockStore } from './stores/memory/memory-lock-store.js';
export {
  PostgresLockStore,
  type PostgresLockStoreOptions,
} from './stores/postgres/postgres-lock-store.js';
export { FencedKeys } from './stores/redis/fenced-keys.js';
export {
  redisLockClientOptions,
  redisLockClusterOptions,
} from './stores/redis/redis-client-options.js';
export type { RedisClient } from './stores/redis/lua-script.js';
export { RedisLockStore, type RedisLockStoreOptions } from './stores/redis/redis-lock-store.js';
export {
  RedisWaitLockStore,
  type RedisWaitLockStoreOptions,
} from './stores/redis-wait/redis-wait-lock-store.js';
export { RedlockLockStore } from './stores/redlock/redlock-lock-store.js';
export type { RedlockLockStoreOptions } from './stores/redlock/redlock-options.js';
export {
  ZookeeperLockStore,
  type ZookeeperLockStoreOptions,
} from './stores/zookeeper/zookeeper-lock-store.js';
export { MemoryTickMarks } from './ticks/memory-tick-marks.js';
export { RedisTickMarks, type RedisTickMarksOptions } from './ticks/redis-tick-marks.js';
export type { ClaimReply, TickClaim, TickMarks } from './ticks/tick-marks.js';
export {
  DEFAULT_TICK_OPTIONS,
  type ResolvedTickJob,
  type TickJobOptions,
  type TickMode,
} from './ticks/tick-options.js';
export {
  StaleTickError,
  type Tick,
  type TickEnding,
  type TickOutcome,
  type TickReport,
} from './ticks/tick-report.js';
export { TickRunner, type TickRunnerOptions, type TickWork } from './ticks/tick-runner.js';
