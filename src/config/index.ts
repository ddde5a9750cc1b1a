export {
  APP_CONFIG,
  type AppConfig,
  type LlmConfig,
  type RedisAccess,
  type RedisAddress,
} from './config.js';
export { ConfigModule } from './config.module.js';
export { loadConfig } from './load-config.js';
export { resolveConfig } from './resolve-config.js';
