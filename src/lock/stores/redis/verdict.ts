import { LockError, LockUnavailableError } from '../../core/lock.errors.js';
import type { RedisClient } from './lua-script.js';

/** How servers tell an error that a script has raised: from Redis 7 on, and before. */
const IN_A_SCRIPT = /script: [0-9a-f]{40}|\(call to f_[0-9a-f]{40}\)/;

/** What refuses a script's first write, if any: after one, servers let the others be. */
const BEFORE_ANY_WRITE = /(?:^|-)(?:OOM|READONLY|MISCONF|NOREPLICAS|MASTERDOWN) /;

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
    throw unavailable(name, cause as Error);
  }
}

/** What a command's error means. */
export function unavailable(name: string | undefined, cause: Error): LockUnavailableError {
  const mayHaveRun = !isRefusal(cause);
  return new LockUnavailableError(name, `Redis: ${cause.message}`, { cause, mayHaveRun });
}

/** Whether nothing was done: an error in the middle of a script leaves what the script had written. */
function isRefusal({ name, message }: Error): boolean {
  if (name !== 'ReplyError') return false;
  return !IN_A_SCRIPT.test(message) || BEFORE_ANY_WRITE.test(message);
}
