/** The door for Nest projects, and the only one for the features of this service. */
export * from './core-entry.js';
export { LockExceptionFilter, type LockFailure } from './nest/lock.exception-filter.js';
export { LockHealth } from './nest/lock.health.js';
export type { LockModuleExtras, LockModuleOptions } from './nest/lock.module-definition.js';
export { LockModule } from './nest/lock.module.js';
export {
  lockProblem,
  type LockProblem,
  type LockProblemBody,
  type LockProblemCode,
  lockProblemKinds,
} from './nest/lock.problem.js';
export { LockService, type LockServiceOptions } from './nest/lock.service.js';
export { getLockServiceToken, InjectLock } from './nest/lock.tokens.js';
export type { LockStoreOption } from './nest/store.factory.js';
export { WithLock } from './nest/with-lock.decorator.js';
export type { LockSignalFunction, WithLockOptions } from './nest/with-lock.options.js';
export type { LockNameFunction } from './nest/with-lock.types.js';
