import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { Redis } from 'ioredis';
import { type LockStore, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { eventually } from '../support/eventually.js';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.js';
import { type RedisServer, startRedis } from '../support/redis.js';

// In containers the servers could not reach each other by loopback addresses.
const describeHere = (await findRedis()).kind === 'program' ? describe : describe.skip;

const place = (process: string) => ({ process, ticket: undefined });
const many = Array.from({ length: 64 }, (_, index) => ({
  name: `doc:${index}`,
  token: `token.${index}.label`,
}));

/** What is done for each row of the table, in this order. */
const operations: Readonly<Record<string, (store: LockStore) => Promise<unknown>>> = {
  'take a free lock': (store) => store.tryAcquire('a', 't.p.l', 30_000),
  'be told that it is busy': (store) => store.tryAcquire('a', 'u.q.l', 30_000),
  'stand in line, or ask again': (store) => store.tryAcquire('a', 'u.q.l', 30_000, place('q')),
  'release it, and wake the next': (store) => store.release('a', 't.p.l', 'p'),
  'take it in turn': (store) => store.tryAcquire('a', 'u.q.l', 30_000, place('q')),
  'release it where nobody waits': (store) => store.release('a', 'u.q.l', 'q'),
  'take 64 locks one by one, at once': (store) =>
    Promise.all(many.map(({ name, token }) => store.tryAcquire(name, token, 30_000))),
  'renew 64 locks': (store) => store.renew(many.map((one) => ({ ...one, ttlMs: 60_000 }))),
  'release 64 locks, at once': (store) =>
    Promise.all(many.map(({ name, token }) => store.release(name, token, 'p'))),
  'take 3 locks, all or none': async (store) => {
    const three = many.slice(0, 3);
    const reply = await store.tryAcquireAll?.(three, 30_000);
    // The engine takes one after the other then.
    if (reply?.status !== 'apart') return;
    for (const { name, token } of three) await store.tryAcquire(name, token, 30_000);
  },
};

const [, section = ''] = readFileSync('docs/stores.md', 'utf8').split('\n## redis\n');
const rows = (section.split('\n## ')[0] ?? '')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, operation]) => operation !== undefined && operation in operations);

/** Does everything in turn; gives how many commands the servers were sent for each row. */
async function measured(store: LockStore, servers: readonly Redis[]): Promise<string[]> {
  const forget = () => Promise.all(servers.map((server) => server.config('RESETSTAT')));
  const sent = async () => {
    const stats = await Promise.all(servers.map((server) => server.info('commandstats')));
    const calls = stats.map((text) => /cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1] ?? '0');
    return calls.reduce((sum, one) => sum + Number(one), 0);
  };
  const clear = () =>
    Promise.all(servers.map((server) => server.flushall().catch(() => 'a replica'))); // its master does it
  // Once before, so that every server knows every script.
  for (const operate of Object.values(operations)) await operate(store);
  await clear();
  const counts: string[] = [];
  for (const [, operation = ''] of rows) {
    await forget();
    await operations[operation]?.(store);
    counts.push(String(await sent()));
  }
  return counts;
}

describe('the table of round trips', () => {
  let server: RedisServer;
  let client: Redis;
  let store: RedisLockStore;

  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.port, server.host, { ...redisLockClientOptions });
    store = new RedisLockStore({ client });
    await eventually(() => client.status === 'ready');
  });

  afterAll(async () => {
    await store.close();
    client.disconnect();
    await server.stop();
  });

  it('names every operation', () => {
    expect(rows.map(([, operation]) => operation)).toEqual(Object.keys(operations));
  });

  it('says what was measured on one server', async () => {
    expect(await measured(store, [client])).toEqual(rows.map(([, , one]) => one));
  });
});

describeHere('the table of round trips, its column for a cluster', () => {
  let cluster: RedisCluster;
  let client: Cluster;
  let store: RedisLockStore;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    client = await cluster.client();
    store = new RedisLockStore({ client });
    await store.start();
  }, 60_000);

  afterAll(async () => {
    await store?.close();
    await cluster?.stop();
  });

  it('says what was measured on one', async () => {
    // Replicas are sent what scripts did, and no scripts.
    const servers = cluster.nodes.map(({ admin }) => admin);
    expect(await measured(store, servers)).toEqual(rows.map(([, , , onCluster]) => onCluster));
  }, 60_000);
});
