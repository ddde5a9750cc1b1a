import type { LockStore } from '../core/lock-store.js';
import { LockOptionsError } from '../core/lock.errors.js';
import { EtcdLockStore, type EtcdLockStoreOptions } from '../stores/etcd/etcd-lock-store.js';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import {
  PostgresLockStore,
  type PostgresLockStoreOptions,
} from '../stores/postgres/postgres-lock-store.js';
import { RedlockLockStore } from '../stores/redlock/redlock-lock-store.js';
import type { RedlockLockStoreOptions } from '../stores/redlock/redlock-options.js';
import {
  RedisWaitLockStore,
  type RedisWaitLockStoreOptions,
} from '../stores/redis-wait/redis-wait-lock-store.js';
import {
  ZookeeperLockStore,
  type ZookeeperLockStoreOptions,
} from '../stores/zookeeper/zookeeper-lock-store.js';
import { RedisLockStore, type RedisLockStoreOptions } from '../stores/redis/redis-lock-store.js';

/** Locks within this process only. */
interface MemoryStoreOption {
  readonly kind: 'memory';
}

/** Locks on one Redis server, or on the master that Sentinel names. */
interface RedisStoreOption extends RedisLockStoreOptions {
  readonly kind: 'redis';
}

/** Locks on one Redis primary, granted only when replicas have them. */
interface RedisWaitStoreOption extends RedisWaitLockStoreOptions {
  readonly kind: 'redis-wait';
}

/** Locks in an etcd cluster. Needs the packages @grpc/grpc-js and @grpc/proto-loader. */
interface EtcdStoreOption extends EtcdLockStoreOptions {
  readonly kind: 'etcd';
}

/** Locks on a majority of independent Redis masters. */
interface RedlockStoreOption extends RedlockLockStoreOptions {
  readonly kind: 'redlock';
}

/** Locks in a ZooKeeper ensemble. Needs the package node-zookeeper-client. */
interface ZookeeperStoreOption extends ZookeeperLockStoreOptions {
  readonly kind: 'zookeeper';
}

/** Locks in a PostgreSQL database. Needs the package pg. */
interface PostgresStoreOption extends PostgresLockStoreOptions {
  readonly kind: 'postgres';
}

/** Where locks live: a store of this package by its kind, or any store that passes the contract suite. */
export type LockStoreOption =
  | MemoryStoreOption
  | RedisStoreOption
  | RedisWaitStoreOption
  | RedlockStoreOption
  | EtcdStoreOption
  | ZookeeperStoreOption
  | PostgresStoreOption
  | LockStore;

/** Makes the store that an option describes. @throws LockOptionsError for what cannot be one */
export function createLockStore(option: LockStoreOption): LockStore {
  if (isStore(option)) return option;
  switch (option?.kind) {
    case 'memory':
      return new MemoryLockStore();
    case 'redis':
      return new RedisLockStore({ client: option.client, prefix: option.prefix });
    case 'redis-wait':
      return new RedisWaitLockStore(option);
    case 'redlock':
      return new RedlockLockStore(option);
    case 'etcd':
      return new EtcdLockStore(option);
    case 'zookeeper':
      return new ZookeeperLockStore(option);
    case 'postgres':
      return new PostgresLockStore(option);
    default:
      throw new LockOptionsError(
        `The lock store ${describe(option)} is unknown. Pass { kind: 'memory' }, { kind: 'redis', client }, { kind: 'redis-wait', client }, { kind: 'redlock', clients }, { kind: 'etcd', endpoints }, { kind: 'zookeeper', servers }, { kind: 'postgres', url } or a LockStore.`,
      );
  }
}

function isStore(option: LockStoreOption): option is LockStore {
  return typeof (option as Partial<LockStore> | undefined)?.tryAcquire === 'function';
}

function describe(option: unknown): string {
  if (typeof option !== 'object' || option === null) return String(option);
  return `of kind ${JSON.stringify((option as { kind?: unknown }).kind) ?? 'undefined'}`;
}
