/**
 * The door for whoever builds a store or a lease engine of his own (`doclock/store-kit`): the parts that the pool of
 * API keys is made of. They may change with any release.
 */
export { FenceRule } from './core/fence-rule.js';
export { GrantEngine, type GrantEngineOptions } from './core/grant-engine.js';
export { LockEventBus } from './core/lock-events.js';
export { resolveLockOptions } from './core/lock-options.js';
export {
  MemoryPermits,
  MemoryPermitStore,
  type MemoryRoom,
  type RoomChoice,
} from './stores/memory/memory-permit-store.js';
export { type LuaCall, type LuaParts, LuaScript } from './stores/redis/lua-script.js';
export {
  RedisPermitStore,
  type RedisPermitStoreOptions,
  type RoomScript,
} from './stores/redis/redis-permit-store.js';
