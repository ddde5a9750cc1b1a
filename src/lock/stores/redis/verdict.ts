import { LockError, LockUnavailableError } from '../../core/lock.errors.js';
import type { RedisClient } from './lua-script.js';

/** What the server answers to a command. @throws LockUnavailableError, whatever the trouble is */
export async function verdict<T>(
  client: RedisClient,
  name: string | undefined,
  command: () => Promise<T>,
): Promise<T> {
  const { status } = client;
  if (status !== 'ready') {
    const cause = new Error(`the connection to Redis is not ready (${status})`);
    throw new LockUnavailableError(name, cause.message, { cause, mayHaveRun: false });
  }
  try {
    return await command();
  } catch (cause) {
    if (cause instanceof LockError) throw cause;
    const { message } = cause as Error;
    const refused = (cause as Error).name === 'ReplyError';
    throw new LockUnavailableError(name, `Redis: ${message}`, { cause, mayHaveRun: !refused });
  }
}
