import { type Clock, type Instant, SystemClock } from '../../../lock/index.js';
import {
  MemoryPermits,
  MemoryPermitStore,
  type MemoryRoom,
  type RoomChoice,
} from '../../../lock/store-kit.js';
import type { PoolState, PoolStore, PoolTerms, RestReason } from '../../pool-store.js';
import { MemberBudget } from './member-budget.js';

interface Member {
  /** A number that rises with every grant. */
  lastGrant: number;
  restsUntilMs: number;
  quarantine: string | undefined;
  readonly budget: MemberBudget;
}

/** What several stores of one process share, as replicas share a Redis. */
export class MemoryPools {
  readonly permits = new MemoryPermits();
  private readonly members = new Map<string, Member>();
  private grants = 0;

  member(pool: string, fingerprint: string): Member {
    const id = `${pool} ${fingerprint}`;
    let member = this.members.get(id);
    if (!member) {
      const budget = new MemberBudget();
      member = { lastGrant: 0, restsUntilMs: 0, quarantine: undefined, budget };
      this.members.set(id, member);
    }
    return member;
  }

  nextGrant(): number {
    return (this.grants += 1);
  }
}

/** Pools within one process; the model of RedisPoolStore. */
export class MemoryPoolStore extends MemoryPermitStore implements PoolStore {
  constructor(
    readonly terms: PoolTerms,
    private readonly poolClock: Clock = new SystemClock(),
    private readonly pools = new MemoryPools(),
  ) {
    super(poolClock, new MembersRoom(terms, pools), pools.permits);
  }

  async rest(pool: string, fingerprint: string, forMs: number): Promise<void> {
    const member = this.pools.member(pool, fingerprint);
    member.restsUntilMs = Math.max(member.restsUntilMs, this.poolClock.now().monoMs + forMs);
  }

  async quarantine(pool: string, fingerprint: string, why: string): Promise<boolean> {
    const member = this.pools.member(pool, fingerprint);
    const isNew = member.quarantine === undefined;
    member.quarantine ??= why;
    return isNew;
  }

  async readmit(pool: string, fingerprint: string): Promise<void> {
    const member = this.pools.member(pool, fingerprint);
    member.quarantine = undefined;
    member.restsUntilMs = 0;
  }

  async spend(pool: string, fingerprint: string, tokens: number): Promise<void> {
    this.pools.member(pool, fingerprint).budget.add(this.poolClock.now().monoMs, { tokens });
  }

  async inspect(pool: string): Promise<PoolState> {
    const { monoMs } = this.poolClock.now();
    const held = await this.holders(pool);
    const members = this.terms.members.map((member) => {
      const known = this.pools.member(pool, member);
      const { ms, why } = restOf(known, this.terms, monoMs);
      return {
        member,
        inUse: held.filter(({ permit }) => permit === member).length,
        restsMs: ms,
        restsWhy: why,
        quarantine: known.quarantine,
      };
    });
    const queued = this.pools.permits.lines.get(pool)?.length ?? 0;
    return { concurrency: this.terms.concurrency, queued, members };
  }

  close(): void {}
}

class MembersRoom implements MemoryRoom {
  constructor(
    private readonly terms: PoolTerms,
    private readonly pools: MemoryPools,
  ) {}

  choose(pool: string, held: readonly string[], { monoMs }: Instant): RoomChoice {
    const candidates: { fingerprint: string; lastGrant: number }[] = [];
    const returns: number[] = [];
    let mayLetGo = false;
    let free = 0;
    for (const fingerprint of this.terms.members) {
      const member = this.pools.member(pool, fingerprint);
      if (member.quarantine !== undefined) continue;
      const { ms } = restOf(member, this.terms, monoMs);
      if (ms > 0) {
        returns.push(ms);
        continue;
      }
      mayLetGo = true;
      const left = this.terms.concurrency - held.filter((one) => one === fingerprint).length;
      const { lastGrant } = member;
      if (left > 0) candidates.push({ fingerprint, lastGrant });
      free += Math.max(0, left);
    }
    const [next] = candidates.sort((a, b) => a.lastGrant - b.lastGrant);
    if (next) return { permit: next.fingerprint, free };
    const first = Math.min(Infinity, ...returns);
    return { permit: undefined, returnsMs: first, closedMs: mayLetGo ? undefined : first };
  }

  granted(pool: string, fingerprint: string, { monoMs }: Instant): void {
    const member = this.pools.member(pool, fingerprint);
    member.lastGrant = this.pools.nextGrant();
    member.budget.add(monoMs, { requests: 1 });
  }
}

/** How long it rests yet, and which reason lasts longest. */
function restOf(
  { restsUntilMs, budget }: Member,
  { requestsPerMinute, tokensPerMinute }: PoolTerms,
  nowMs: number,
): { readonly ms: number; readonly why: RestReason | undefined } {
  const reasons: [RestReason, number][] = [
    ['told', restsUntilMs - nowMs],
    ['requests', budget.returnsMs(nowMs, 'requests', requestsPerMinute)],
    ['tokens', budget.returnsMs(nowMs, 'tokens', tokensPerMinute)],
  ];
  const ms = Math.max(0, ...reasons.map(([, lasts]) => lasts));
  return { ms, why: reasons.find(([, lasts]) => lasts > 0 && lasts === ms)?.[0] };
}
