import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import { SystemClock } from '../../src/lock/core/clock.js';
import {
  redisLockClientOptions,
  RedlockLockStore,
  type RedlockLockStoreOptions,
} from '../../src/lock/index.js';
import { freePort } from './free-port.js';
import { type RedisServer, startRedis } from './redis.js';

/** For how long a new node does not vote. */
export const QUARANTINE_MS = 120_000;

/** A TTL that outlasts every test, and the longest that the stores take. */
export const MINUTE_MS = 60_000;

/** The machine's clock, and further ahead on demand: new servers do not vote for two minutes. */
export class JumpClock extends SystemClock {
  private aheadMs = 0;
  override now() {
    const { monoMs, wallMs } = super.now();
    return { monoMs: monoMs + this.aheadMs, wallMs: wallMs + this.aheadMs };
  }
  jump(ms: number): void {
    this.aheadMs += ms;
  }
}

/** Five Redis servers that are nodes of Redlock. */
export interface RedlockNodes {
  readonly servers: readonly RedisServer[];
  /** A client of each server, for what a test does to it. */
  readonly admins: readonly Redis[];
  readonly ports: () => number[];
  /** Called after the test, the last one first. */
  readonly closers: (() => unknown)[];
  readonly clientOf: (port: number) => Redis;
  /** A store whose nodes vote at once, unless told otherwise. */
  readonly open: (
    to?: readonly number[],
    options?: Omit<RedlockLockStoreOptions, 'clients'>,
    clock?: JumpClock,
  ) => Promise<RedlockLockStore>;
  /** Of five nodes only those: the others are ports that nobody listens on. */
  readonly openOnly: (nodes: readonly number[], clock?: JumpClock) => Promise<RedlockLockStore>;
  /** The keys of all servers, one after the other. */
  readonly keysLeft: (pattern?: string) => Promise<string[]>;
}

/** Starts the servers for the tests of the file that calls it; each test finds them empty. */
export function redlockNodes(): RedlockNodes {
  const servers: RedisServer[] = [];
  const admins: Redis[] = [];
  const closers: (() => unknown)[] = [];

  beforeAll(async () => {
    servers.push(...(await Promise.all(Array.from({ length: 5 }, () => startRedis()))));
    for (const { port, host } of servers) {
      const admin = new Redis(port, host, { retryStrategy: () => 50, disconnectTimeout: 100 });
      admin.on('error', () => undefined); // tests end servers on purpose
      admins.push(admin);
    }
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

  const clientOf = (port: number) => {
    // The driver leaves a timer of that length behind when it disconnects after an outage.
    const client = new Redis(port, '127.0.0.1', {
      ...redisLockClientOptions,
      disconnectTimeout: 100,
    });
    client.on('error', () => undefined);
    closers.push(() => client.disconnect());
    return client;
  };

  const open: RedlockNodes['open'] = async (
    to = ports(),
    options = {},
    clock = new JumpClock(),
  ) => {
    const clients = to.map(clientOf);
    const store = new RedlockLockStore({ clients, nodeTimeoutMs: 5_000, ...options }, clock);
    closers.push(() => store.close());
    await store.start();
    clock.jump(QUARANTINE_MS);
    return store;
  };

  const openOnly: RedlockNodes['openOnly'] = async (nodes, clock) => {
    const to = await Promise.all(
      ports().map(async (port, index) => (nodes.includes(index) ? port : freePort())),
    );
    return open(to, {}, clock);
  };

  const keysLeft = async (pattern = 'lock:*') =>
    (await Promise.all(admins.map((admin) => admin.keys(pattern)))).flat();

  return { servers, admins, ports, closers, clientOf, open, openOnly, keysLeft };
}
