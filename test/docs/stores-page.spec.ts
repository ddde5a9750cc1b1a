import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  EtcdLockStore,
  type LockStore,
  MemoryLockStore,
  PostgresLockStore,
  redisLockClientOptions,
  RedisLockStore,
  RedisWaitLockStore,
  RedlockLockStore,
  type StoreCapabilities,
  ZookeeperLockStore,
} from '../../src/lock/index.js';

const idle = () => new Redis({ ...redisLockClientOptions, lazyConnect: true });
const clients = [idle(), idle(), idle()];
const client = idle();
afterAll(() => [...clients, client].forEach((one) => one.disconnect()));

/** One of each, by the name of its folder. None of them connects. */
const stores: Readonly<Record<string, LockStore>> = {
  zookeeper: new ZookeeperLockStore({ servers: 'zookeeper:2181' }),
  etcd: new EtcdLockStore({ endpoints: ['etcd:2379'] }),
  memory: new MemoryLockStore(),
  postgres: new PostgresLockStore({ url: 'postgres://localhost/locks' }),
  redis: new RedisLockStore({ client }),
  'redis-wait': new RedisWaitLockStore({ client }),
  redlock: new RedlockLockStore({ clients }),
};

const page = readFileSync('docs/stores.md', 'utf8');

function row(store: string): string[] | undefined {
  const cells = page
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .find(([, name]) => name === `\`${store}\``);
  return cells?.slice(2, 7);
}

function printed(capabilities: StoreCapabilities): string[] {
  const yes = (value: boolean) => (value ? 'yes' : 'no');
  return [
    capabilities.fairWaiting ? (capabilities.waiterTickets ? 'waiters' : 'processes') : 'no',
    yes(capabilities.confirmedGrants),
    yes(capabilities.fencesSurviveLoss),
    yes(capabilities.serverTime),
    `${capabilities.ttlStepMs} ms`,
  ];
}

describe('the page about stores', () => {
  it.each(readdirSync('src/lock/stores'))('prints what %s declares', (folder) => {
    const store = stores[folder];
    if (!store) throw new Error(`There is no store of the folder ${folder} in this spec.`);
    expect(row(store.kind)).toEqual(printed(store.capabilities));
  });

  it.each(readdirSync('src/lock/stores'))('has a section about %s', (folder) => {
    expect(page).toMatch(new RegExp(`^## ${stores[folder]?.kind}$`, 'm'));
  });
});
