import { describe, expect, it, jest } from '@jest/globals';
import {
  Injectable,
  type INestApplicationContext,
  Module,
  type ModuleMetadata,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  currentLease,
  getLockServiceToken,
  InjectLock,
  LockHealth,
  LockManager,
  LockModule,
  type LockModuleOptions,
  LockOptionsError,
  LockService,
  LockUnavailableError,
  MemoryLockStore,
  redisLockClientOptions,
  WithLock,
} from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';
import { startRedis } from '../../support/redis.js';

@Injectable()
class Work {
  constructor(
    @InjectLock('jobs') readonly jobs: LockService,
    readonly locks: LockService,
  ) {}

  @WithLock('doc:<id>')
  async document(id: string): Promise<unknown> {
    return this.job(id);
  }

  @WithLock('doc:<id>', { instance: 'jobs' })
  async job(id: string): Promise<unknown> {
    const states = [this.locks, this.jobs].map((locks) => locks.inspect(`doc:${id}`));
    const held = (await Promise.all(states)).map((state) => state?.holder?.label);
    return [held, currentLease()?.ttlMs];
  }
}

async function start(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  const app = await Test.createTestingModule(metadata).compile();
  await app.init();
  return app;
}

const memory = { kind: 'memory' } as const;
const withStore = (options: object) =>
  start({ imports: [LockModule.forRoot({ store: memory, ...options })] });

describe('LockModule', () => {
  it('gives the whole application one instance, under its own defaults', async () => {
    @Module({
      providers: [{ provide: 'child', inject: [LockService], useFactory: (s) => s as unknown }],
      exports: ['child'],
    })
    class Child {}
    const options = { store: memory, ttlMs: 5_000, waitMs: 7, instanceId: 'replica 1' };
    const app = await start({ imports: [Child, LockModule.forRoot(options)] });
    const locks = app.get(LockService);
    expect(app.get('child', { strict: false })).toBe(locks);
    expect(locks).toBeInstanceOf(LockManager);
    expect(locks.defaults).toMatchObject({ ttlMs: 5_000, waitMs: 7, maxHoldMs: 600_000 });
    await locks.run('a', async (lease) => {
      expect(lease.ttlMs).toBe(5_000);
      expect((await locks.inspect('a'))?.holder?.label).toBe('replica 1');
    });
    await app.close();
  });

  it('warns of a lock in the way that lives longer than any should, once and not at every request', async () => {
    const warn = jest.fn<(message: string, context: string) => void>();
    const store = new MemoryLockStore();
    const app = await withStore({ store });
    app.useLogger({ warn, log: () => {}, error: () => {} });
    const locks = app.get(LockService);
    await store.tryAcquire('doc:1', 'somebody-elses-token', 3_600_000);
    for (let round = 0; round < 3; round += 1) expect(await locks.tryAcquire('doc:1')).toBeNull();
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      expect.stringMatching(/^The lock "doc:1" lives for \d+ ms, longer than the TTL of 30000 ms/),
    ]);
    await app.close();
  });

  it('gives several instances under names, which do not exclude each other', async () => {
    const app = await start({
      imports: [
        LockModule.forRoot({ store: memory, instanceId: 'one' }),
        LockModule.forRootAsync({
          name: 'jobs',
          imports: [LockSettings],
          inject: [SETTINGS],
          useFactory: async (settings: LockModuleOptions) => settings,
        }),
      ],
      providers: [Work],
    });
    const work = app.get(Work);
    expect(work.jobs).toBe(app.get(getLockServiceToken('jobs')));
    expect(work.jobs).not.toBe(work.locks);
    expect(await work.document('1')).toEqual([['one', 'two'], 2_000]);
    await app.close();
  });

  it('shares nothing between two applications of one process', async () => {
    const [one, other] = await Promise.all([withStore({}), withStore({})]);
    const lease = await one?.get(LockService).acquire('a');
    expect(await other?.get(LockService).inspect('a')).toBeNull();
    const second = await other?.get(LockService).acquire('a');
    const signal = lease?.signal;
    await one?.get(LockService).shutdown(0);
    expect(signal?.reason).toMatchObject({ reason: 'SHUTDOWN' });
    expect(() => second?.assertHeld()).not.toThrow();
    await second?.release();
    await Promise.all([one?.close(), other?.close()]);
  });

  it('excludes two applications over one Redis, and leaves their client open', async () => {
    await using server = await startRedis();
    const client = new Redis({
      port: server.port,
      host: server.host,
      ...redisLockClientOptions,
      lazyConnect: true,
    });
    const store = { kind: 'redis', client, prefix: 'test:' } as const;
    const [one, other] = await Promise.all([withStore({ store }), withStore({ store })]);
    const lease = await one?.get(LockService).acquire('a');
    expect(await other?.get(LockService).tryAcquire('a')).toBeNull();
    expect(await client.get('test:a')).toMatch(/^[\w-]+\.[\w-]+\./);
    await other?.get(LockHealth).probe();
    await Promise.all([one?.close(), other?.close(), lease?.release()]);
    expect(await client.get('test:a')).toBeNull();
    expect(client.status).toBe('ready');
    client.disconnect();
  });
});

const SETTINGS = Symbol('settings');

@Module({
  providers: [{ provide: SETTINGS, useValue: { store: memory, instanceId: 'two', ttlMs: 2_000 } }],
  exports: [SETTINGS],
})
class LockSettings {}

describe('the boot of an application', () => {
  it.each<[object, RegExp]>([
    [{ ttl: 5 }, /"ttl" is no option of a lock/],
    [{ ttlMs: 50 }, /ttlMs is 50/],
    [{ waitMs: 2 ** 31 }, /waitMs is 2147483648/],
    [{ commandTimeoutMs: 0 }, /commandTimeoutMs is 0/],
    [{ shutdownGraceMs: -1 }, /shutdownGraceMs is -1/],
    [{ shutdownGraceMs: Infinity }, /shutdownGraceMs is Infinity/],
    [{ instanceId: '' }, /instanceId/],
    [{ name: '' }, /name of a lock instance/],
    [{ store: undefined }, /lock store undefined is unknown/],
    [{ store: { kind: 'mysql' } }, /lock store of kind "mysql" is unknown/],
  ])('fails on %j', async (options, message) => {
    await expect((async () => withStore(options))()).rejects.toThrow(LockOptionsError);
    await expect((async () => withStore(options))()).rejects.toThrow(message);
  });

  it('fails on a Redis client under which locks would break', async () => {
    const client = new Redis({ lazyConnect: true, keyPrefix: 'x', ...redisLockClientOptions });
    await expect(withStore({ store: { kind: 'redis', client } })).rejects.toThrow(/keyPrefix "x"/);
    client.disconnect();
  });

  it('fails on options from a factory, too', async () => {
    const module = LockModule.forRootAsync({ useFactory: () => ({ store: memory, ttlMs: 1 }) });
    await expect(start({ imports: [module] })).rejects.toThrow(/ttlMs is 1;/);
  });

  it('fails when the store cannot be used', async () => {
    const store = new MemoryLockStore();
    store.start = () => Promise.reject(new Error('the store is of the wrong version'));
    await expect(withStore({ store })).rejects.toThrow('the store is of the wrong version');
  });

  it('fails on two instances of one name, which would not exclude each other', async () => {
    const twice = (name?: string) => [
      LockModule.forRoot({ store: memory, name }),
      LockModule.forRoot({ store: memory, name }),
    ];
    await expect(start({ imports: twice() })).rejects.toThrow(/two instances named "default"/);
    await expect(start({ imports: twice('jobs') })).rejects.toThrow(/two instances named "jobs"/);
  });

  it.each([
    ['LockModule', [], /import LockModule\.forRoot\)/],
    [
      'the named instance',
      [LockModule.forRoot({ store: memory })],
      /import LockModule\.forRoot with name: 'jobs'/,
    ],
  ])('fails without %s, telling what to import', async (_what, imports, message) => {
    @Injectable()
    class Jobs {
      @WithLock('job', imports.length === 0 ? {} : { instance: 'jobs' })
      async job(): Promise<void> {}
    }
    await expect(start({ imports, providers: [Jobs] })).rejects.toThrow(message);
  });
});

describe('the shutdown of an application', () => {
  it('refuses new locks, waits for holders, and closes the store once after that', async () => {
    const store = new MemoryLockStore();
    const steps: string[] = [];
    const close = store.close.bind(store);
    store.close = async () => {
      steps.push('closed');
      await close();
    };
    const app = await NestFactory.createApplicationContext(LockModule.forRoot({ store }), {
      logger: false,
    });
    const locks = app.get(LockService);
    const lease = await locks.acquire('a');
    const closing = app.close().then(() => steps.push('shut down'));
    await eventually(() =>
      locks.acquire('b').then(
        (other) => other.release().then(() => false),
        (error: unknown) => error instanceof LockUnavailableError,
      ),
    );
    await expect(locks.acquire('b')).rejects.toThrow(LockUnavailableError);
    expect(() => lease.assertHeld()).not.toThrow();
    expect(await lease.release()).toBe('released');
    steps.push('released');
    await closing;
    expect(steps).toEqual(['released', 'closed', 'shut down']);
  });

  it('ends what is left after the grace with SHUTDOWN, and leaves no key', async () => {
    const store = new MemoryLockStore();
    const app = await withStore({ store, shutdownGraceMs: 10 });
    const locks = app.get(LockService);
    const work = locks.run('a', (lease) => eventually(() => lease.signal.aborted));
    const failure = work.catch((error: unknown) => error);
    await eventually(() => locks.inspect('a'));
    await app.close();
    expect(await failure).toMatchObject({ code: 'LOCK_LOST', reason: 'SHUTDOWN' });
    expect(await store.inspect('a')).toBeNull();
  });
});
