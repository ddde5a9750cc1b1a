import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** A script of a `.lua` file beside this one, sent by its hash and, where the server has forgotten it, by its text. */
export class LuaScript {
  readonly text: string;
  private readonly sha: string;

  constructor(file: string) {
    this.text = readFileSync(new URL(file, import.meta.url), 'utf8');
    this.sha = createHash('sha1').update(this.text).digest('hex');
  }

  /** One round trip, two after a restart or SCRIPT FLUSH. @throws what the client throws */
  async run(client: Redis, keys: readonly string[], args: readonly (string | number)[]) {
    try {
      return await client.evalsha(this.sha, keys.length, ...keys, ...args);
    } catch (error) {
      // The server did not know the hash, so nothing has run.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.eval(this.text, keys.length, ...keys, ...args);
    }
  }
}
