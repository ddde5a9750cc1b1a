import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';

/** A client of one server (or of the master that Sentinel names), or of a cluster. */
export type RedisClient = Redis | Cluster;

/** What a script is made of: files beside this one, joined in order, `$NAME` replaced by a constant. */
export interface LuaParts {
  readonly files: readonly string[];
  readonly constants?: Readonly<Record<string, number | string>>;
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
      const value = constants[name];
      if (value === undefined) throw new Error(`${files.join()}: no constant ${name}`);
      return typeof value === 'number' ? String(value) : luaString(value);
    });
    this.sha = createHash('sha1').update(this.text).digest('hex');
  }

  /** One round trip, two after a restart or SCRIPT FLUSH. @throws what the client throws */
  async run(client: RedisClient, { keys, args }: LuaCall): Promise<unknown> {
    const operands = [this.sha, keys.length, ...keys, ...args];
    try {
      return await client.call('evalsha', operands);
    } catch (error) {
      // The server did not know the hash, so nothing has run.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      operands[0] = this.text;
      return client.call('eval', operands);
    }
  }
}

/** A Lua literal: every byte that is not plain by its number. */
function luaString(value: string): string {
  const escaped = [...Buffer.from(value)].map((byte) =>
    /[\w:./-]/.test(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `\\${String(byte).padStart(3, '0')}`,
  );
  return `"${escaped.join('')}"`;
}
