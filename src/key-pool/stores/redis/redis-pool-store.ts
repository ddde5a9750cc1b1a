import { RedisPermitStore, type RedisPermitStoreOptions } from '../../../lock/index.js';
import type { MemberState, PoolStore, PoolTerms } from '../../pool-store.js';
import { membersRoom, membersRoomConstants, poolScripts } from './pool-scripts.js';

/** What a Redis pool store is made of. */
export interface RedisPoolStoreOptions extends Pick<RedisPermitStoreOptions, 'client'> {
  readonly terms: PoolTerms;
  /**
   * Put before every name; without braces and white space.
   * @default 'pool:'
   */
  readonly prefix?: string | undefined;
}

/** Pools on Redis, for all replicas that share it. One round trip per call; all throw LockUnavailableError. */
export class RedisPoolStore extends RedisPermitStore implements PoolStore {
  private readonly terms: PoolTerms;

  constructor({ client, terms, prefix = 'pool:' }: RedisPoolStoreOptions) {
    const room = { files: membersRoom, constants: membersRoomConstants, args: argsOf(terms) };
    super({ client, prefix, room });
    this.terms = terms;
  }

  async rest(pool: string, member: string, forMs: number): Promise<void> {
    await this.ask(pool, poolScripts.rest, [member, Math.ceil(forMs)]);
  }

  async quarantine(pool: string, member: string, why: string): Promise<boolean> {
    return (await this.ask(pool, poolScripts.quarantine, [member, why])) === 1;
  }

  async readmit(pool: string, member: string): Promise<void> {
    await this.ask(pool, poolScripts.readmit, [member]);
  }

  async spend(pool: string, member: string, tokens: number): Promise<void> {
    await this.ask(pool, poolScripts.spend, [member, Math.ceil(tokens)]);
  }

  async members(pool: string): Promise<readonly MemberState[]> {
    const answers = await this.ask(pool, poolScripts.list, argsOf(this.terms));
    return (answers as [number, number, string][]).map(([inUse, restsMs, why], index) => ({
      member: this.terms.members[index] ?? '',
      inUse,
      restsMs,
      quarantine: why === '' ? undefined : why,
    }));
  }
}

function argsOf({ concurrency, requestsPerMinute, tokensPerMinute, members }: PoolTerms) {
  return [concurrency, requestsPerMinute ?? 0, tokensPerMinute ?? 0, ...members];
}
