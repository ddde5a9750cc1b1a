import { LockOptionsError } from '../../core/lock.errors.js';
import { LuaScript, type RedisClient } from './lua-script.js';

const fencedWrite = new LuaScript({ files: ['./fenced-write.lua'] });

/**
 * Data in Redis that refuses late writers: a key remembers the highest fence that has written it, under
 * `{<key>}:fence`, and an older one changes nothing. The memory of a fence outlives the deletion of its
 * key, so that a late writer cannot bring it back; it is yours to expire. Fences compare under one lock
 * name only: one key, one lock.
 */
export class FencedKeys {
  constructor(private readonly client: RedisClient) {}

  /** Sets the key with the lease's fence. False: a newer holder has written it. One round trip. */
  set(key: string, value: string, fence: bigint): Promise<boolean> {
    return this.write(key, [String(fence), value]);
  }

  /** Deletes the key with the lease's fence. False: a newer holder has written it. One round trip. */
  delete(key: string, fence: bigint): Promise<boolean> {
    return this.write(key, [String(fence)]);
  }

  private async write(key: string, args: string[]): Promise<boolean> {
    if (/[{}]/.test(key)) {
      throw new LockOptionsError(
        `The key ${JSON.stringify(key)} holds braces, which would put it and its fence into different slots.`,
      );
    }
    return (await fencedWrite.run(this.client, { keys: [key, `{${key}}:fence`], args })) === 1;
  }
}
