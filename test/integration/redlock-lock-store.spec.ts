import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  LockManager,
  LuaScript,
  redisLockClientOptions,
  RedlockLockStore,
  type RedlockLockStoreOptions,
} from '../../src/lock/index.js';
import { SystemClock } from '../../src/lock/core/clock.js';
import { lockScripts } from '../../src/lock/stores/redis/scripts.js';
import { lockStoreContract } from '../../src/lock/testing/store-contract.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { freePort } from '../support/free-port.js';
import { realTime } from '../support/real-time.js';
import { type RedisServer, startRedis } from '../support/redis.js';

const raiseFence = new LuaScript({ files: ['../redlock/raise-fence.lua'] });
const QUARANTINE_MS = 120_000;
const MINUTE_MS = 60_000;

/** The machine's clock, and further ahead on demand: new servers do not vote for two minutes. */
class JumpClock extends SystemClock {
  private aheadMs = 0;
  override now() {
    const { monoMs, wallMs } = super.now();
    return { monoMs: monoMs + this.aheadMs, wallMs: wallMs + this.aheadMs };
  }
  jump(ms: number): void {
    this.aheadMs += ms;
  }
}

let servers: RedisServer[];
let admins: Redis[];
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  servers = await Promise.all(Array.from({ length: 5 }, () => startRedis()));
  admins = servers.map(({ port, host }) => {
    const admin = new Redis(port, host, { retryStrategy: () => 50, disconnectTimeout: 100 });
    admin.on('error', () => undefined); // tests end servers on purpose
    return admin;
  });
});

afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await Promise.all(servers.map((server) => server.stop()));
});

beforeEach(() => Promise.all(admins.map((admin) => admin.flushall())));

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const ports = () => servers.map(({ port }) => port);

function clientOf(port: number): Redis {
  // The driver leaves a timer of that length behind when it disconnects after an outage.
  const client = new Redis(port, '127.0.0.1', {
    ...redisLockClientOptions,
    disconnectTimeout: 100,
  });
  client.on('error', () => undefined);
  closers.push(() => client.disconnect());
  return client;
}

/** A store whose nodes vote at once, unless told otherwise. */
async function open(
  to: readonly number[] = ports(),
  options: Omit<RedlockLockStoreOptions, 'clients'> = {},
  clock = new JumpClock(),
): Promise<RedlockLockStore> {
  const clients = to.map(clientOf);
  const store = new RedlockLockStore({ clients, nodeTimeoutMs: 5_000, ...options }, clock);
  closers.push(() => store.close());
  await store.start();
  clock.jump(QUARANTINE_MS);
  return store;
}

/** Of five nodes only those: the others are ports that nobody listens on. */
async function openOnly(nodes: readonly number[], clock?: JumpClock): Promise<RedlockLockStore> {
  const to = await Promise.all(
    ports().map(async (port, index) => (nodes.includes(index) ? port : freePort())),
  );
  return open(to, {}, clock);
}

const keysLeft = async (pattern = 'lock:*') =>
  (await Promise.all(admins.map((admin) => admin.keys(pattern)))).flat();

async function calls(admin: Redis, command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

describe('RedlockLockStore keeps the contract', () => {
  let store: RedlockLockStore;
  beforeEach(async () => {
    store = await open();
  });
  it.each(lockStoreContract)('$promise', ({ verify }) => verify({ store, elapse: realTime }));
});

describe('on each node', () => {
  it('a lock looks as the Redis store has it, and a foreign client of most nodes excludes', async () => {
    const store = await open();
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    await eventually(async () => (await keysLeft()).length === 5);
    for (const admin of admins) {
      expect((await admin.keys('*')).sort()).toEqual(['lock:doc:1', '{lock:doc:1}:fence']);
      expect(await admin.get('lock:doc:1')).toBe('token');
      expect(await admin.pttl('lock:doc:1')).toBeGreaterThan(30_000);
    }
    for (const admin of admins.slice(0, 3)) await admin.set('lock:doc:2', 'foreign', 'PX', 9_000);
    expect(await store.tryAcquire('doc:2', 'token', 1_000)).toMatchObject({ status: 'busy' });
    expect(await store.inspect('doc:2')).toMatchObject({ token: 'foreign' });
    await eventually(async () => (await keysLeft('lock:doc:2')).length === 3);
  });

  it('a grant costs two scripts, one after the other, and a release one', async () => {
    const store = await open();
    const { acquire, release } = lockScripts('lock:wake:');
    for (const admin of admins) {
      for (const { text } of [acquire, release, raiseFence]) await admin.script('LOAD', text);
      await admin.config('RESETSTAT');
    }
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    const scripts = async () =>
      String(await Promise.all(admins.map((admin) => calls(admin, 'evalsha'))));
    await eventually(async () => (await scripts()) === '2,2,2,2,2');
    await store.tryAcquire('doc:1', 'other', MINUTE_MS);
    await eventually(async () => (await scripts()) === '3,3,3,3,3');
    await store.release('doc:1', 'token', 'process');
    await eventually(async () => (await scripts()) === '4,4,4,4,4');
  });

  it('the fence is raised only while the token holds the lock, and never lowered', async () => {
    const [admin] = admins as [Redis];
    const keys = ['lock:doc:1', '{lock:doc:1}:fence', '{lock:doc:1}:queue'];
    const raise = (token: string, fence: string) =>
      raiseFence.run(admin, { keys, args: [token, fence] });
    expect(await raise('token', '5')).toBe(0);
    await admin.set('lock:doc:1', 'token', 'PX', MINUTE_MS);
    const fence = '1893456000000001';
    expect(await raise('other', fence)).toBe(0);
    expect(await admin.exists('{lock:doc:1}:fence')).toBe(0);
    expect(await raise('token', fence)).toBe(1);
    expect(await raise('token', '1893456000000000')).toBe(1);
    expect(await admin.get('{lock:doc:1}:fence')).toBe(fence);
    expect(await admin.expiretime('{lock:doc:1}:fence')).toBe(1893456000 + 86400);
    const text = readFileSync('src/lock/stores/redlock/raise-fence.lua', 'utf8');
    for (const word of [/-- .*KEYS/, /-- .*ARGV/, /-- Returns/]) expect(text).toMatch(word);
  });
});

describe('any minority that is', () => {
  let proxies: FaultProxy[];
  let store: RedlockLockStore;

  beforeEach(async () => {
    proxies = await Promise.all(servers.map((server) => FaultProxy.start(server)));
    closers.push(() => Promise.all(proxies.map((proxy) => proxy.close())));
    store = await open(
      proxies.map(({ port }) => port),
      { nodeTimeoutMs: 3_000 },
    );
  });

  type Harm = readonly [
    what: string,
    harm: (node: number) => unknown,
    heal: (node: number) => unknown,
  ];
  const harms: readonly Harm[] = [
    ['killed', (node) => servers[node]?.kill(), (node) => servers[node]?.restart()],
    ['frozen', (node) => servers[node]?.pause(), (node) => servers[node]?.resume()],
    ['slow', (node) => proxies[node]?.addLatency(4_000), (node) => proxies[node]?.pass()],
    ['cut off', (node) => proxies[node]?.refuse(), (node) => proxies[node]?.pass()],
  ];

  it.each(harms)(
    '%s changes nothing, and a majority of them grants nothing',
    async (what, harm, heal) => {
      const locks = new LockManager({
        store,
        defaults: { commandTimeoutMs: 15_000, ttlMs: MINUTE_MS },
      });
      const held = await locks.acquire('doc:held');
      const harmed = [0, 1, 2, 3, 4].sort(() => Math.random() - 0.5).slice(0, 3);
      for (const node of harmed.slice(0, 2)) await harm(node);
      try {
        const lease = await locks.acquire('doc:1');
        expect(lease.fence).toBeGreaterThan(0n);
        await expect(locks.acquire('doc:held')).rejects.toMatchObject({ code: 'LOCK_BUSY' });
        expect(await held.extend(MINUTE_MS)).toBe(true);
        expect(await lease.release()).toBe('released');
        const again = await locks.acquire('doc:1');
        expect(again.fence).toBeGreaterThan(lease.fence);
        expect(await again.release()).toBe('released');

        await harm(harmed[2] as number);
        await expect(locks.acquire('doc:2')).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          message: expect.stringMatching(/3 of 5 Redlock nodes are needed.*127\.0\.0\.1:\d+: /),
        });
      } finally {
        for (const node of harmed) await heal(node);
      }
      // What the harmed ones had not learnt they learn now: nothing is left but what is held.
      await eventually(
        async () => (await keysLeft()).filter((key) => key !== 'lock:doc:held').length === 0,
        { what: 'the keys of attempts and releases to go' },
      );
      if (what !== 'killed') await eventually(async () => (await held.release()) === 'released');
      else expect(await held.release()).toBe('unknown'); // three of five have forgotten it
    },
  );
});

describe('a split', () => {
  it('that is even, with a dead node, is decided at once, undone, and gone for waiters', async () => {
    const slow = await Promise.all(servers.map((server) => FaultProxy.start(server)));
    closers.push(() => Promise.all(slow.map((proxy) => proxy.close())));
    for (const proxy of slow) proxy.addLatency(50);
    const via = async (near: readonly number[]) => {
      const dead = await freePort();
      return open(
        ports().map((port, index) => {
          if (index === 2) return dead;
          return near.includes(index) ? port : (slow[index]?.port ?? 0);
        }),
      );
    };
    const [left, right] = [await via([0, 1]), await via([3, 4])];
    await eventually(async () => {
      const replies = await Promise.all([
        left.tryAcquire('doc:1', 'left', MINUTE_MS),
        right.tryAcquire('doc:1', 'right', MINUTE_MS),
      ]);
      for (const [store, token] of [
        [left, 'left'],
        [right, 'right'],
      ] as const) {
        await store.release('doc:1', token, 'process');
      }
      return replies.every(({ status }) => status === 'busy');
    });
    await eventually(async () => (await keysLeft()).length === 0);

    // Those who wait get it, one after the other, long before any TTL.
    let inside = 0;
    const work = (store: RedlockLockStore) =>
      new LockManager({ store }).run('doc:1', { waitMs: 25_000, ttlMs: MINUTE_MS }, async () => {
        inside += 1;
        expect(inside).toBe(1);
        await realTime(5);
        inside -= 1;
      });
    await Promise.all([left, right, left, right, left, right].map(work));
    await eventually(async () => (await keysLeft()).length === 0);
  });

  it('of thirty simultaneous tries over five stores leaves one holder at most', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, () => open()));
    for (let round = 0; round < 10; round += 1) {
      const name = `doc:${round}`;
      const replies = await Promise.all(
        stores.flatMap((store, index) =>
          Array.from({ length: 6 }, (_, n) =>
            store.tryAcquire(name, `token-${index}-${n}`, MINUTE_MS),
          ),
        ),
      );
      const granted = replies.filter(({ status }) => status === 'granted').length;
      expect(granted).toBeLessThanOrEqual(1);
      if (granted === 0)
        await eventually(async () => (await keysLeft(`lock:${name}`)).length === 0);
    }
  });
});

describe('the fence', () => {
  it('rises over every change of quorum, also where one node minted far ahead of the others', async () => {
    const quorums = [
      [0, 1, 2],
      [2, 3, 4],
      [0, 3, 4],
      [1, 2, 3],
      [0, 1, 4],
    ];
    const stores = await Promise.all(quorums.map((nodes) => openOnly(nodes)));
    let last = 0n;
    let ahead = BigInt(Date.now()) * 1_000n;
    for (let round = 0; round < 40; round += 1) {
      if (round % 4 === 0) {
        // The clock of one node is an hour further ahead.
        ahead += 3_600_000_000n;
        await admins[(round / 4) % 5]?.set('{lock:doc:1}:fence', String(ahead));
      }
      const store = stores[round % stores.length] as RedlockLockStore;
      const token = `token-${round}`;
      const reply = await store.tryAcquire('doc:1', token, MINUTE_MS);
      if (reply.status !== 'granted') throw new Error(`round ${round} was busy`);
      expect(reply.fence).toBeGreaterThan(last);
      last = reply.fence;
      expect(await store.release('doc:1', token, 'process')).toBe('released');
    }
    expect(last).toBeGreaterThan(BigInt(Date.now()) * 1_000n); // a fence ahead was granted, and passed on
  });
});

describe('a node that comes back empty', () => {
  it('does not vote before every lock that it may have forgotten is over', async () => {
    const seenBefore = new JumpClock();
    const holder = await openOnly([0, 1, 2]);
    const others = await openOnly([2, 3, 4], seenBefore);
    expect(await holder.tryAcquire('doc:1', 'first', MINUTE_MS)).toMatchObject({
      status: 'granted',
    });
    await servers[2]?.restart();
    // With its vote these three would be a quorum, beside a holder on the other two.
    const refusal = {
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('started lately'),
    };
    await eventually(async () => {
      await expect(others.tryAcquire('doc:1', 'second', 1_000)).rejects.toMatchObject(refusal);
      return true;
    });
    // The same to a process that has never seen it before: it tells how long it has been up.
    const newcomer = new RedlockLockStore({
      clients: [2, 3, 4].map((node) => clientOf(servers[node]?.port ?? 0)),
    });
    closers.push(() => newcomer.close());
    await newcomer.start();
    await expect(newcomer.tryAcquire('doc:9', 'token', 1_000)).rejects.toMatchObject(refusal);
    expect(await keysLeft('lock:doc:9')).toEqual([]);

    seenBefore.jump(QUARANTINE_MS - 1_000 - 60_000);
    await expect(others.tryAcquire('doc:1', 'second', 1_000)).rejects.toMatchObject(refusal);
    seenBefore.jump(61_000);
    await eventually(async () => {
      const reply = await others.tryAcquire('doc:1', 'second', 1_000);
      return reply.status === 'granted';
    });
  });

  it('does not confirm renewals meanwhile', async () => {
    const store = await openOnly([0, 1, 2]);
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    const renewals = [{ name: 'doc:1', token: 'token', ttlMs: MINUTE_MS }];
    expect(await store.renew(renewals)).toEqual(['renewed']);
    await servers[2]?.restart();
    await admins[2]?.set('lock:doc:1', 'token', 'PX', MINUTE_MS); // as from an old file of its own
    for (let round = 0; round < 5; round += 1) {
      expect(await store.renew(renewals)).toEqual(['unknown']);
      await realTime(50);
    }
  });
});

describe('administration with a minority away', () => {
  it('lists, inspects and revokes by quorum', async () => {
    const store = await openOnly([0, 1, 2]);
    const locks = new LockManager({ store });
    const lease = await locks.acquire('doc:1', { ttlMs: MINUTE_MS });
    await admins[0]?.set('lock:doc:part', 'left-over', 'PX', MINUTE_MS); // one node is no lock
    expect(await locks.inspect('doc:1')).toMatchObject({ fence: lease.fence, revoked: false });
    await expect(locks.inspect('doc:part')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await admins[0]?.del('lock:doc:part');
    const listed: string[] = [];
    for await (const { name } of locks.list()) listed.push(name);
    expect(listed).toEqual(['doc:1']);
    expect(await locks.revoke('doc:1')).toBe('revoked');
    await eventually(() => lease.signal.aborted);
    expect(lease.signal.reason).toMatchObject({ reason: 'REVOKED' });
    await lease.release();
    expect(await locks.inspect('doc:1')).toBeNull();
  });
});

describe('what makes no Redlock is refused', () => {
  const idle = () => {
    const client = new Redis({ ...redisLockClientOptions, lazyConnect: true });
    closers.push(() => client.disconnect());
    return client;
  };

  it.each([
    ['two clients', () => ({ clients: [idle(), idle()] }), 'has 2 clients'],
    ['four clients', () => ({ clients: [idle(), idle(), idle(), idle()] }), 'has 4 clients'],
    [
      'one client twice',
      () => {
        const client = idle();
        return { clients: [client, client, idle()] };
      },
      'one client twice',
    ],
    [
      'a time that is none',
      () => ({ clients: [idle(), idle(), idle()], nodeTimeoutMs: 0 }),
      'nodeTimeoutMs: 0',
    ],
  ])('%s', (_what, options, message) => {
    expect(() => new RedlockLockStore(options())).toThrow(message);
  });

  it('one server under two addresses, at start', async () => {
    const proxy = await FaultProxy.start(servers[0] as RedisServer);
    closers.push(() => proxy.close());
    const [first = 0, second = 0] = ports();
    await expect(open([first, second, proxy.port])).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(
        /not independent: 127\.0\.0\.1:\d+: it is the same server as 127\.0\.0\.1:\d+ .*Give each its own Redis master/,
      ),
    });
  });

  it('a replica, at start', async () => {
    await admins[4]?.replicaof('127.0.0.1', ports()[0] ?? 0);
    try {
      const nodes = [0, 1, 4].map((node) => ports()[node] ?? 0);
      await expect(open(nodes)).rejects.toThrow(/it is a slave, not a master of its own/);
    } finally {
      await admins[4]?.replicaof('NO', 'ONE');
    }
  });

  it('a TTL beyond the longest, for which nobody would abstain', async () => {
    const store = await open();
    await expect(store.tryAcquire('doc:1', 'token', 60_001)).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('longestTtlMs'),
    });
    await store.tryAcquire('doc:1', 'token', MINUTE_MS);
    const longer = [{ name: 'doc:1', token: 'token', ttlMs: 60_001 }];
    expect(await store.renew(longer)).toEqual(['unknown']);
  });
});
