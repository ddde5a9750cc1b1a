import { existsSync } from 'node:fs';
import { type AppConfig } from './config.js';
import { resolveConfig } from './resolve-config.js';

/**
 * The config of this process: its environment, and below that the file `.env` in the working
 * directory where there is one. The only reader of `process.env`.
 * @throws ConfigError with all mistakes at once
 */
export function loadConfig(): AppConfig {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return resolveConfig(process.env);
}
