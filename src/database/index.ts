export { withoutNul } from './bindable.js';
export { type DatabaseOptions } from './database-options.js';
export { StaleFenceError } from './database.errors.js';
export { DatabaseModule } from './database.module.js';
export { Database } from './database.js';
export { type DatabaseDialect } from './dialect.js';
export { guardedWrite } from './guarded-write.js';
export { highestFence } from './highest-fence.js';
export { InstanceLock } from './instance-lock.js';
export { InstanceModule } from './instance.module.js';
export { migrate } from './migrate.js';
export { newestPage, type PagePart, type RowPage } from './newest-page.js';
export { serverTime } from './server-time.js';
export {
  type ConversationRow,
  type DocumentRow,
  type DocumentsTable,
  type IdempotencyRecordRow,
  type Schema,
  type TickRow,
} from './schema.js';
