export { withoutNul } from './bindable.js';
export { type DatabaseOptions } from './database-options.js';
export {
  DatabaseUnavailableError,
  DatabaseValueError,
  type GuardedTarget,
  MigrationError,
  StaleFenceError,
} from './database.errors.js';
export { DatabaseModule } from './database.module.js';
export { Database } from './database.js';
export { type DatabaseDialect } from './dialect.js';
export { changedRows, guardedWrite } from './guarded-write.js';
export { InstanceLock, InstanceLockError } from './instance-lock.js';
export { InstanceModule } from './instance.module.js';
export { migrate } from './migrate.js';
export {
  type DocumentRow,
  type DocumentsTable,
  type Integer,
  type NullableInteger,
  type Bytes,
  type Schema,
} from './schema.js';
