import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** What a script is made of: files beside this one, joined in order, `$NAME` replaced by a constant. */
export interface LuaParts {
  readonly files: readonly string[];
  readonly constants?: Readonly<Record<string, number>>;
}

/** One call of a script. */
export interface LuaCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** A script, sent by its hash and, where the server has forgotten it, by its text. */
export class LuaScript {
  readonly text: string;
  private readonly sha: string;

  constructor({ files, constants = {} }: LuaParts) {
    const joined = files
      .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
      .join('\n');
    this.text = joined.replace(/\$([A-Z_]+)/g, (_match, name: string) => {
      if (constants[name] === undefined) throw new Error(`${files.join()}: no constant ${name}`);
      return String(constants[name]);
    });
    this.sha = createHash('sha1').update(this.text).digest('hex');
  }

  /** One round trip, two after a restart or SCRIPT FLUSH. @throws what the client throws */
  async run(client: Redis, { keys, args }: LuaCall): Promise<unknown> {
    try {
      return await client.evalsha(this.sha, keys.length, ...keys, ...args);
    } catch (error) {
      // The server did not know the hash, so nothing has run.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.eval(this.text, keys.length, ...keys, ...args);
    }
  }
}
