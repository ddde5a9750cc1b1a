import { type RedisClient } from '../../../lock/index.js';
import { LuaScript } from '../../../lock/store-kit.js';
import { IdempotencyUnavailableError } from '../../idempotency.errors.js';
import {
  BEGUN_LIFE_MS,
  type BeginRecord,
  type BeginReply,
  type FinishRecord,
  type IdempotencyRecord,
  type IdempotencyStore,
  type StoredAnswer,
  type SweptRecords,
} from '../../idempotency-store.js';

/** What records in Redis are made of. */
export interface RedisIdempotencyStoreOptions {
  /** Stays open; commands may be repeated, so a client that resends does no harm here. */
  readonly client: RedisClient;
  /**
   * Put before every id; without braces and white space.
   * @default 'idempotency:'
   */
  readonly prefix?: string | undefined;
  /**
   * How long a command may take, in ms; then the store counts as away.
   * @default 1000
   */
  readonly commandTimeoutMs?: number | undefined;
}

const script = (file: string) => new LuaScript({ files: [new URL(file, import.meta.url).href] });
const beginRecord = script('./begin-record.lua');
const finishRecord = script('./finish-record.lua');
const dropRecord = script('./drop-record.lua');

/**
 * Records in Redis, a hash each that expires by itself. Use a server that persists and does not evict
 * (`noeviction`): a lost record lets a repetition work again. One round trip per call; every trouble is
 * IdempotencyUnavailableError.
 */
export class RedisIdempotencyStore implements IdempotencyStore {
  private readonly client: RedisClient;
  private readonly prefix: string;
  private readonly commandTimeoutMs: number;

  /** @throws Error for a prefix that would put a record and its helper key into two slots */
  constructor({
    client,
    prefix = 'idempotency:',
    commandTimeoutMs = 1_000,
  }: RedisIdempotencyStoreOptions) {
    if (/[{}\s\p{Cc}]/u.test(prefix)) {
      throw new Error(
        `The prefix ${JSON.stringify(prefix)} of idempotency records holds braces, white space or control characters; use plain characters such as "idempotency:".`,
      );
    }
    this.client = client;
    this.prefix = prefix;
    this.commandTimeoutMs = commandTimeoutMs;
  }

  async find(id: string): Promise<IdempotencyRecord | null> {
    const fields = ['fingerprint', 'fence', 'answer'] as const;
    const [fingerprint, fence, answer] = await this.answered(
      this.client.hmget(this.prefix + id, ...fields),
    );
    if (!fingerprint || !fence) return null;
    return toRecord(fingerprint, fence, answer ?? '');
  }

  async begin(id: string, { fingerprint, fence }: BeginRecord): Promise<BeginReply> {
    const reply = (await this.run(beginRecord, id, [fingerprint, `${fence}`, BEGUN_LIFE_MS])) as
      ['begun' | 'stale'] | ['known', string, string, string];
    return reply[0] === 'known' ? toRecord(reply[1], reply[2], reply[3]) : reply[0];
  }

  async finish(id: string, { fence, answer, ttlMs }: FinishRecord): Promise<'kept' | 'stale'> {
    const args = [`${fence}`, JSON.stringify(answer), ttlMs];
    return (await this.run(finishRecord, id, args)) as 'kept' | 'stale';
  }

  async drop(id: string, fence: bigint): Promise<void> {
    await this.run(dropRecord, id, [`${fence}`]);
  }

  async sweep(): Promise<SweptRecords> {
    return { removed: 0, more: false }; // the server does it
  }

  private run(lua: LuaScript, id: string, args: readonly (string | number)[]): Promise<unknown> {
    const key = this.prefix + id;
    return this.answered(lua.run(this.client, { keys: [key, `{${key}}:none`], args }));
  }

  private async answered<T>(command: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const why = new Error(`nothing within ${this.commandTimeoutMs} ms`);
      timer = setTimeout(() => reject(why), this.commandTimeoutMs);
    });
    try {
      return await Promise.race([command, late]);
    } catch (error) {
      throw new IdempotencyUnavailableError(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

function toRecord(fingerprint: string, fence: string, answer: string): IdempotencyRecord {
  return {
    fingerprint,
    fence: BigInt(fence),
    answer: answer === '' ? null : (JSON.parse(answer) as StoredAnswer),
  };
}
