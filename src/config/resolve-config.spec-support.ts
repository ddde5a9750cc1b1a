import { ConfigError } from './config.errors.js';
import { resolveConfig } from './resolve-config.js';

/** What is wrong with these settings, a sentence for each mistake. */
export function mistakes(raw: Record<string, string>): readonly string[] {
  try {
    resolveConfig(raw);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}
