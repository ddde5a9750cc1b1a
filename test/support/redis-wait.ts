import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import {
  redisLockClientOptions,
  RedisWaitLockStore,
  type RedisWaitLockStoreOptions,
} from '../../src/lock/index.js';
import { eventually } from './eventually.js';
import type { RedisServer } from './redis.js';
import { startPrimary, startReplicaOf } from './replication.js';

/** For tests in which nothing is refused: a busy machine must not look like a silent replica. */
const PATIENT_MS = 5_000;

/** Opens what a test of replica confirmation needs, and closes it after the test. */
export interface ConfirmedStores {
  /** Called after the test, the last one first. */
  readonly closers: (() => unknown)[];
  /** A client, once it is ready. */
  readonly connect: (port: number, options?: RedisOptions) => Promise<Redis>;
  /** A store that has started, and is patient unless told otherwise. */
  readonly open: (
    client: Redis,
    options?: Omit<RedisWaitLockStoreOptions, 'client'>,
  ) => Promise<RedisWaitLockStore>;
}

/** For the tests of the file that calls it. */
export function confirmedStores(): ConfirmedStores {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  const connect: ConfirmedStores['connect'] = async (port, options = {}) => {
    // The driver leaves a timer of that length behind when it disconnects after an outage.
    const given = { ...redisLockClientOptions, disconnectTimeout: 100, ...options };
    const client = new Redis(port, '127.0.0.1', given);
    client.on('error', () => undefined); // tests end servers on purpose
    closers.push(() => client.disconnect());
    await eventually(() => client.status === 'ready');
    return client;
  };

  const open: ConfirmedStores['open'] = async (client, options = {}) => {
    const store = new RedisWaitLockStore({ client, confirmTimeoutMs: PATIENT_MS, ...options });
    closers.push(() => store.close());
    await store.start();
    return store;
  };

  return { closers, connect, open };
}

/** A primary with one replica. */
export interface ReplicatedPair {
  readonly primary: RedisServer;
  readonly replica: RedisServer;
  /** A client of the primary, for what a test does to it. */
  readonly admin: Redis;
  /** Another one, new for each test. */
  readonly client: Redis;
}

/** Starts both for the tests of the block that calls it; each test finds them empty. */
export function replicatedPair({ connect }: ConfirmedStores): ReplicatedPair {
  let primary: RedisServer;
  let replica: RedisServer;
  let admin: Redis;
  let client: Redis;

  beforeAll(async () => {
    primary = await startPrimary();
    replica = await startReplicaOf(primary.port);
    admin = new Redis(primary.port, primary.host);
  });

  afterAll(async () => {
    admin?.disconnect();
    for (const server of [replica, primary]) await server?.stop();
  });

  beforeEach(async () => {
    await admin.flushall();
    client = await connect(primary.port);
  });

  return {
    get primary() {
      return primary;
    },
    get replica() {
      return replica;
    },
    get admin() {
      return admin;
    },
    get client() {
      return client;
    },
  };
}

/** Takes a lock; with a short limit a busy machine may need more than one try. */
export async function taken(
  store: RedisWaitLockStore,
  name: string,
  token = 'token',
): Promise<void> {
  await eventually(async () => {
    const { status } = await store.tryAcquire(name, token, 60_000);
    return status === 'granted';
  });
}

/** How a refusal for want of confirmation looks. */
export const unavailable = (message: RegExp | string) => ({
  code: 'LOCK_UNAVAILABLE',
  message: expect.stringMatching(message),
});
