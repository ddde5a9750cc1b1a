import assert from 'node:assert/strict';
import type { AcquireReply } from '../../lock/index.js';
import { MINUTE_MS, type PoolStore, type PoolTerms, SLOT_MS } from '../pool-store.js';

/** What the contract needs to know of the store under test. */
export interface PoolsUnderTest {
  /** Stores that share one place, as replicas do. */
  readonly store: (terms: PoolTerms) => PoolStore;
  /** Lets `ms` milliseconds pass for the store; undefined where its clock cannot be moved. */
  readonly advance: ((ms: number) => Promise<void>) | undefined;
}

/** One promise of the contract; `verify` rejects when the store under test breaks it. */
export interface PoolCase {
  readonly promise: string;
  /** Needs a clock that can be moved: it would take minutes otherwise. */
  readonly needsClock?: boolean;
  readonly verify: (under: PoolsUnderTest) => Promise<void>;
}

const TTL_MS = 60_000;
const MEMBERS = ['aaa', 'bbb', 'ccc'];

let count = 0;
const newPool = () => `pool-${process.pid}-${Date.now()}-${(count += 1)}`;
const newToken = () => `pool-token-${(count += 1)}.process.label`;

function memberOf(reply: AcquireReply): string {
  if (reply.status !== 'granted') assert.fail(`busy: ${JSON.stringify(reply)}`);
  return reply.permit ?? '';
}

function closedMs(reply: AcquireReply): number | undefined {
  if (reply.status !== 'busy') assert.fail('granted');
  return reply.closedMs;
}

async function use(store: PoolStore, pool: string): Promise<string> {
  const token = newToken();
  const member = memberOf(await store.tryAcquire(pool, token, TTL_MS));
  await store.release(pool, token, 'process');
  return member;
}

/** The promises that every store of pools keeps, beside those of semaphores. */
export const poolStoreContract: readonly PoolCase[] = [
  {
    promise: 'gives every member to as many as may hold it, and says which it is',
    async verify({ store }) {
      const [pools, pool] = [store({ members: MEMBERS, concurrency: 2 }), newPool()];
      const held: string[] = [];
      for (let n = 0; n < 6; n += 1) {
        held.push(memberOf(await pools.tryAcquire(pool, newToken(), TTL_MS)));
      }
      assert.deepEqual(held.sort(), ['aaa', 'aaa', 'bbb', 'bbb', 'ccc', 'ccc']);
      assert.equal(closedMs(await pools.tryAcquire(pool, newToken(), TTL_MS)), undefined);
      const { concurrency, members } = await pools.inspect(pool);
      assert.equal(concurrency, 2);
      assert.deepEqual(
        members.map(({ member, inUse }) => [member, inUse]),
        MEMBERS.map((member) => [member, 2]),
      );
    },
  },
  {
    promise: 'gives a repeated try the same member again',
    async verify({ store }) {
      const [pools, pool, token] = [
        store({ members: MEMBERS, concurrency: 1 }),
        newPool(),
        newToken(),
      ];
      const first = memberOf(await pools.tryAcquire(pool, token, TTL_MS));
      assert.equal(memberOf(await pools.tryAcquire(pool, token, TTL_MS)), first);
      assert.equal((await pools.holders(pool))[0]?.permit, first);
      const { members } = await pools.inspect(pool);
      assert.equal(members.filter(({ inUse }) => inUse > 0).length, 1);
    },
  },
  {
    promise: 'chooses the member that was used least recently, over all replicas',
    async verify({ store }) {
      const pool = newPool();
      const replicas = [1, 2].map(() => store({ members: MEMBERS, concurrency: 1 }));
      const used: string[] = [];
      for (let n = 0; n < 6; n += 1) used.push(await use(replicas[n % 2] as PoolStore, pool));
      assert.deepEqual(used, [...MEMBERS, ...MEMBERS]);
    },
  },
  {
    promise: 'counts the processes that stand in line, and not the turn that is kept for one',
    async verify({ store }) {
      const [pools, pool, token] = [
        store({ members: ['aaa'], concurrency: 1 }),
        newPool(),
        newToken(),
      ];
      assert.equal((await pools.inspect(pool)).queued, 0);
      await pools.tryAcquire(pool, token, TTL_MS);
      for (const process of ['one', 'other']) {
        await pools.tryAcquire(pool, newToken(), TTL_MS, { process, ticket: undefined });
      }
      assert.equal((await pools.inspect(pool)).queued, 2);
      await pools.release(pool, token, 'holder');
      assert.equal((await pools.inspect(pool)).queued, 2);
      for (const process of ['one', 'other']) await pools.leave(pool, process);
      assert.equal((await pools.inspect(pool)).queued, 0);
    },
  },
  {
    promise: 'leaves a member alone until the latest time that was told, for all replicas',
    async verify({ store }) {
      const [one, other] = [1, 2].map(() => store({ members: ['aaa', 'bbb'], concurrency: 1 }));
      const pool = newPool();
      await one?.rest(pool, 'aaa', 600_000);
      await other?.rest(pool, 'aaa', 1_000); // an older call's answer shortens nothing
      for (let n = 0; n < 3; n += 1) assert.equal(await use(other as PoolStore, pool), 'bbb');
      const [aaa, bbb] = (await one?.inspect(pool))?.members ?? [];
      assert.ok((aaa?.restsMs ?? 0) > 590_000);
      assert.deepEqual([aaa?.restsWhy, bbb?.restsWhy, bbb?.restsMs], ['told', undefined, 0]);
    },
  },
  {
    promise: 'says for how long all rest, and not so while one that does not rest is in use',
    async verify({ store }) {
      const [pools, pool] = [store({ members: ['aaa', 'bbb'], concurrency: 1 }), newPool()];
      await pools.rest(pool, 'aaa', 50_000);
      const token = newToken();
      assert.equal(memberOf(await pools.tryAcquire(pool, token, TTL_MS)), 'bbb');
      assert.equal(closedMs(await pools.tryAcquire(pool, newToken(), TTL_MS)), undefined);
      await pools.rest(pool, 'bbb', 20_000); // told while it is in use
      const rests = closedMs(await pools.tryAcquire(pool, newToken(), TTL_MS)) ?? 0;
      assert.ok(rests > 10_000 && rests <= 20_000, `${rests}`);
    },
  },
  {
    promise: 'grants a member again when its rest is over',
    async verify({ store }) {
      const [pools, pool] = [store({ members: ['aaa'], concurrency: 1 }), newPool()];
      await pools.rest(pool, 'aaa', 300);
      for (;;) {
        const reply = await pools.tryAcquire(pool, newToken(), TTL_MS);
        if (reply.status === 'granted') return;
        assert.ok((reply.closedMs ?? Infinity) <= 300);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  },
  {
    promise:
      'keeps a refused member out of use until it is readmitted, and tells the first who says so',
    async verify({ store }) {
      const [pools, pool] = [store({ members: ['aaa', 'bbb'], concurrency: 1 }), newPool()];
      assert.equal(await pools.quarantine(pool, 'aaa', '401'), true);
      assert.equal(await pools.quarantine(pool, 'aaa', '403'), false);
      for (let n = 0; n < 3; n += 1) assert.equal(await use(pools, pool), 'bbb');
      assert.equal((await pools.inspect(pool)).members[0]?.quarantine, '401');
      await pools.quarantine(pool, 'bbb', '401');
      assert.equal(closedMs(await pools.tryAcquire(pool, newToken(), TTL_MS)), Infinity);
      await pools.readmit(pool, 'aaa');
      assert.equal(await use(pools, pool), 'aaa');
    },
  },
  {
    promise: 'never grants a member more often in a minute than it may be used',
    async verify({ store }) {
      const terms = { members: ['aaa', 'bbb'], concurrency: 5, requestsPerMinute: 3 };
      const [pools, pool] = [store(terms), newPool()];
      const used: string[] = [];
      for (let n = 0; n < 6; n += 1) used.push(await use(pools, pool));
      assert.deepEqual(used.sort(), ['aaa', 'aaa', 'aaa', 'bbb', 'bbb', 'bbb']);
      const rests = closedMs(await pools.tryAcquire(pool, newToken(), TTL_MS)) ?? 0;
      assert.ok(rests > MINUTE_MS - SLOT_MS && rests <= MINUTE_MS + SLOT_MS, `${rests}`);
      const { members } = await pools.inspect(pool);
      assert.deepEqual(
        members.map(({ restsWhy }) => restsWhy),
        ['requests', 'requests'],
      );
    },
  },
  {
    promise: 'leaves a member alone that has used up its tokens',
    async verify({ store }) {
      const terms = { members: ['aaa', 'bbb'], concurrency: 1, tokensPerMinute: 1_000 };
      const [pools, pool] = [store(terms), newPool()];
      await pools.spend(pool, 'aaa', 999);
      assert.equal(await use(pools, pool), 'aaa');
      await pools.spend(pool, 'aaa', 1);
      for (let n = 0; n < 3; n += 1) assert.equal(await use(pools, pool), 'bbb');
      const [aaa, bbb] = (await pools.inspect(pool)).members;
      assert.ok((aaa?.restsMs ?? 0) > MINUTE_MS - SLOT_MS);
      assert.deepEqual([aaa?.restsWhy, bbb?.restsMs], ['tokens', 0]);
      await pools.rest(pool, 'aaa', 2 * MINUTE_MS);
      assert.equal((await pools.inspect(pool)).members[0]?.restsWhy, 'told'); // which lasts longer
    },
  },
  {
    promise: 'has a minute’s budget again after the minute, in any minute never more',
    needsClock: true,
    async verify({ store, advance }) {
      const terms = { members: ['aaa'], concurrency: 100, requestsPerMinute: 10 };
      const [pools, pool] = [store(terms), newPool()];
      const grants: number[] = [];
      for (let ms = 0; ms < 5 * MINUTE_MS; ms += 1_000) {
        const reply = await pools.tryAcquire(pool, newToken(), TTL_MS);
        if (reply.status === 'granted') grants.push(ms);
        await advance?.(1_000);
      }
      for (const from of grants) {
        const within = grants.filter((at) => at >= from && at < from + MINUTE_MS);
        assert.ok(within.length <= 10, `${within.length} in the minute from ${from}`);
      }
      assert.ok(grants.length >= 40, `${grants.length} in five minutes`);
    },
  },
];
