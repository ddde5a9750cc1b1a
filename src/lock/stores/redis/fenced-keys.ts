import { LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import { oneOf } from './answer-shapes.js';
import { LuaScript, type RedisClient } from './lua-script.js';
import { unavailable } from './verdict.js';

const fencedWrite = new LuaScript({ files: ['./decimals.lua', './fenced-write.lua'] });

/**
 * Data in Redis that refuses late writers: a key remembers the highest fence that has written it, under
 * `{<key>}:fence`, and an older one changes nothing. The memory of a fence outlives the deletion of its
 * key, so that a late writer cannot bring it back; it is yours to expire. Fences compare under one lock
 * name only: one key, one lock. Trouble is a LockUnavailableError.
 */
export class FencedKeys {
  constructor(private readonly client: RedisClient) {}

  /** Sets the key with the lease's fence. False: a newer holder has written it. One round trip. */
  set(key: string, value: string, fence: bigint): Promise<boolean> {
    return this.write(key, fence, value);
  }

  /** Deletes the key with the lease's fence. False: a newer holder has written it. One round trip. */
  delete(key: string, fence: bigint): Promise<boolean> {
    return this.write(key, fence);
  }

  private async write(key: string, fence: bigint, ...value: string[]): Promise<boolean> {
    if (/[{}]/.test(key)) {
      throw new LockOptionsError(
        `The key ${JSON.stringify(key)} holds braces, which would put it and its fence into different slots.`,
      );
    }
    if (fence < 0n) throw new LockOptionsError(`The fence ${fence} of ${key} is below 0.`);
    const call = { keys: [key, `{${key}}:fence`], args: [String(fence), ...value] };
    try {
      return oneOf(await fencedWrite.run(this.client, call), [0, 1], undefined) === 1;
    } catch (error) {
      if (error instanceof LockUnavailableError) throw error;
      throw unavailable(undefined, error as Error);
    }
  }
}
