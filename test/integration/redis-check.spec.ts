import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../src/lock/index.js';
import { describeServer } from '../../src/lock/stores/redis/server-findings.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { ServiceProcess } from '../support/service-process.js';

// In containers the servers could not reach each other by loopback addresses.
const itHere = (await findRedis()).kind === 'program' ? it : it.skip;

let server: RedisServer;
let admin: Redis;
const opened: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
});

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

/** What a check says, by a user with these rights. */
async function checkAs(...rights: string[]): Promise<readonly string[]> {
  await admin.call('ACL', 'SETUSER', 'locks', 'reset', 'on', '>secret', ...rights);
  return check({ username: 'locks', password: 'secret' });
}

async function check(options: object = {}): Promise<readonly string[]> {
  const client = new Redis(server.port, server.host, { ...redisLockClientOptions, ...options });
  client.on('error', () => 'a refused handshake is a case of its own');
  const store = new RedisLockStore({ client });
  opened.push(
    () => client.disconnect(),
    () => store.close(),
  );
  await store.start();
  return new LockManager({ store }).check();
}

/** The commands that docs/stores.md asks for. */
const commands =
  '+evalsha +eval +set +get +mget +del +exists +renamenx +pexpire +pttl +time +zadd +zrem +zrange +zrank +zscore +zcard +zcount +publish +subscribe +unsubscribe +scan +info +ping +hello +client|setname';
const keys = ['~lock:*', '~{lock:*'];
const all = [...keys, '&lock:wake:*', ...commands.split(' ')];

describe('a check of the server', () => {
  it('finds nothing wrong with one that is as it should be, and leaves nothing behind', async () => {
    await admin.flushall();
    expect(await check()).toEqual([]);
    expect(await admin.dbsize()).toBe(0);
  });

  it.each(['allkeys-lru', 'volatile-ttl'])(
    'names a policy that evicts locks: %s',
    async (policy) => {
      await admin.config('SET', 'maxmemory-policy', policy);
      const warnings = await check();
      await admin.config('SET', 'maxmemory-policy', 'noeviction');
      expect(warnings).toEqual([
        expect.stringMatching(new RegExp(`${policy}.*Set it to noeviction`)),
      ]);
    },
  );

  it('names a replica, and does not touch it', async () => {
    await admin.replicaof('127.0.0.1', 1);
    const warnings = await check();
    await admin.replicaof('NO', 'ONE');
    expect(warnings).toEqual([expect.stringContaining('it is a replica')]);
  });

  it('names a server of a cluster whose client does not know that', async () => {
    const info =
      'redis_version:7.0.15\nrole:master\nmaxmemory_policy:noeviction\ncluster_enabled:1';
    const { warnings } = describeServer('It', { info, coverage: [], isOne: true });
    expect(warnings).toEqual([expect.stringContaining('Pass a Cluster client')]);
    expect(describeServer('It', { info, coverage: [], isOne: false }).warnings).toEqual([]);
  });

  it.each(['2.8.24', '6.0.16'])('refuses one that is too old: %s', async (version) => {
    const answers = { info: `redis_version:${version}\n`, coverage: [], isOne: true };
    expect(() => describeServer('It', answers)).toThrow(`version ${version}`);
  });

  itHere(
    'asks every master of a cluster, and names one that takes all others down with it',
    async () => {
      const cluster = await startRedisCluster();
      opened.push(() => cluster.stop());
      const [, node] = cluster.nodes;
      await node?.admin.config('SET', 'cluster-require-full-coverage', 'yes');
      const store = new RedisLockStore({ client: await cluster.client() });
      opened.push(() => store.close());
      await store.start();
      expect(await store.check()).toEqual([
        expect.stringMatching(new RegExp(`:${node?.server.port}: .*cluster-require-full-coverage`)),
      ]);
    },
    60_000,
  );
});

describe('a check of the rights', () => {
  it('is content with the commands, keys and channels that the page lists', async () => {
    expect(await checkAs(...all)).toEqual([]);
  });

  it.each([
    'evalsha',
    'eval',
    'set',
    'del',
    'pexpire',
    'renamenx',
    'mget',
    'zadd',
    'zrem',
    'zrange',
    'zrank',
    'zscore',
    'zcard',
    'zcount',
    'exists',
  ])('refuses a user without %s', async (command) => {
    await expect(checkAs(...all, `-${command}`)).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(/lacks rights without which locks cannot work/),
    });
  });

  it.each(keys)('refuses a user without the keys %s', async (pattern) => {
    const rights = all.filter((one) => one !== pattern);
    await expect(checkAs(...rights)).rejects.toMatchObject({ code: 'LOCK_OPTIONS' });
  });

  it.each([
    ['-publish', 'it may not publish'],
    ['resetchannels', 'it may not subscribe'],
    ['-subscribe', 'it may not subscribe'],
    ['-scan', 'locks cannot be listed'],
    ['-info', 'does not tell its version, role and maxmemory-policy'],
  ])('warns of %s', async (right, warning) => {
    expect((await checkAs(...all, right)).join()).toContain(warning);
  });
});

describe('the service', () => {
  it('logs what may break locks when it starts, and nothing where nothing does', async () => {
    await admin.config('SET', 'maxmemory-policy', 'volatile-ttl');
    await using warned = await ServiceProcess.start({ REDIS_URL: server.url, EMBED_WORKERS: '1' });
    expect(warned.output).toContain('its maxmemory-policy is volatile-ttl');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await using content = await ServiceProcess.start({ REDIS_URL: server.url, EMBED_WORKERS: '1' });
    expect(content.output).not.toContain('maxmemory-policy');
  }, 60_000);

  it('starts without its Redis, and checks it when it comes', async () => {
    const port = await freePort();
    await using service = await ServiceProcess.spawn({ REDIS_URL: `redis://127.0.0.1:${port}` });
    const said = (text: string) =>
      eventually(() => service.output.includes(text), { timeoutMs: 60_000, what: text });
    await said('could not be checked yet');
    await using late = await startRedis({ port, args: ['--maxmemory-policy', 'allkeys-lfu'] });
    expect(late.port).toBe(port);
    await said('its maxmemory-policy is allkeys-lfu');
  }, 130_000);
});
