import { existsSync, readFileSync } from 'node:fs';
import { type AppConfig } from './config.js';
import { ConfigError } from './config.errors.js';
import { dotenvMistakes } from './dotenv-lines.js';
import { resolveConfig } from './resolve-config.js';

/**
 * The config of this process: its environment, and below that the file `.env` in the working
 * directory where there is one. The only reader of `process.env`.
 * @throws ConfigError with all mistakes at once; those of the lines of `.env` by themselves, first
 */
export function loadConfig(): AppConfig {
  if (existsSync('.env')) {
    const mistakes = dotenvMistakes(readDotenv());
    if (mistakes.length > 0) throw new ConfigError(mistakes);
    process.loadEnvFile('.env');
  }
  return resolveConfig(process.env);
}

function readDotenv(): string {
  try {
    return readFileSync('.env', 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EISDIR' ? 'it is a folder' : `the system says ${code}`;
    throw new ConfigError([
      `.env cannot be read: ${why}. Make it a file that this user may read, or remove it.`,
    ]);
  }
}
