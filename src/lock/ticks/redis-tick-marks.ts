import { LockOptionsError, LockUnavailableError } from '../core/lock.errors.js';
import { LuaScript, type RedisClient } from '../stores/redis/lua-script.js';
import type { ClaimReply, TickClaim, TickMarks } from './tick-marks.js';

/** What marks in Redis are made of. */
export interface RedisTickMarksOptions {
  /** Stays open; claims may be repeated, so a client that resends does no harm here. */
  readonly client: RedisClient;
  /**
   * Put before every job's name.
   * @default 'ticks:'
   */
  readonly prefix?: string | undefined;
}

const CLAIM_REPLIES: readonly ClaimReply[] = ['claimed', 'done', 'stale'];

const claimTick = new LuaScript({ files: ['./decimals.lua', '../../ticks/claim-tick.lua'] });

/**
 * Marks in Redis, one hash per job that never expires. Use a server that persists and does not evict
 * (`noeviction`): a lost mark lets an instant run again. One round trip per claim.
 */
export class RedisTickMarks implements TickMarks {
  private readonly client: RedisClient;
  private readonly prefix: string;

  /** @throws LockOptionsError for a prefix that would put a mark and its helper key into two slots */
  constructor({ client, prefix = 'ticks:' }: RedisTickMarksOptions) {
    if (/[{}\s\p{Cc}]/u.test(prefix)) {
      throw new LockOptionsError(
        `The prefix ${JSON.stringify(prefix)} of tick marks holds braces, white space or control characters; use plain characters such as "ticks:".`,
      );
    }
    this.client = client;
    this.prefix = prefix;
  }

  /** The server's clock. One round trip. */
  async nowMs(): Promise<number> {
    const [seconds, micros] = await this.client.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  async claim({ job, tickMs, fence, done }: TickClaim): Promise<ClaimReply> {
    const key = this.prefix + job;
    const keys = [key, `{${key}}:none`];
    const reply = await claimTick.run(this.client, {
      keys,
      args: [tickMs, `${fence}`, done ? 1 : 0],
    });
    const known = CLAIM_REPLIES.find((one) => one === reply);
    if (known) return known;
    throw new LockUnavailableError(undefined, `Redis: the answer to a claim of ${job} is none`);
  }
}
