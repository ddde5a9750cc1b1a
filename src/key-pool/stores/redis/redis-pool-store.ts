import { RedisPermitStore, type RedisPermitStoreOptions } from '../../../lock/store-kit.js';
import type { PoolState, PoolStore, PoolTerms, RestReason } from '../../pool-store.js';
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

type MemberAnswer = [inUse: number, restsMs: number, restsWhy: RestReason | '', out: string];

/** Pools on Redis, for all replicas that share it. One round trip per call; all throw LockUnavailableError. */
export class RedisPoolStore extends RedisPermitStore implements PoolStore {
  readonly terms: PoolTerms;

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

  async inspect(pool: string): Promise<PoolState> {
    const answer = await this.ask(pool, poolScripts.state, argsOf(this.terms));
    const [queued, ...answers] = answer as [number, ...MemberAnswer[]];
    const members = answers.map(([inUse, restsMs, restsWhy, out], index) => ({
      member: this.terms.members[index] ?? '',
      inUse,
      restsMs,
      restsWhy: restsWhy === '' ? undefined : restsWhy,
      quarantine: out === '' ? undefined : out,
    }));
    return { concurrency: this.terms.concurrency, queued, members };
  }
}

function argsOf({ concurrency, requestsPerMinute, tokensPerMinute, members }: PoolTerms) {
  return [concurrency, requestsPerMinute ?? 0, tokensPerMinute ?? 0, ...members];
}
