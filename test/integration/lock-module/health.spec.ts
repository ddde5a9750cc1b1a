import { describe, expect, it, jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import {
  LockHealth,
  LockModule,
  type LockModuleOptions,
  LockService,
  LockUnavailableError,
  MemoryLockStore,
} from '../../../src/lock/index.js';
import { FaultyStore } from '../../../src/lock/testing/faulty-store.js';
import { eventually } from '../../support/eventually.js';

async function withStore(options: LockModuleOptions) {
  const imports = [LockModule.forRoot(options)];
  const app = await Test.createTestingModule({ imports }).compile();
  return app.init();
}

describe('LockHealth', () => {
  it('takes a real lock and gives it back, once for callers at the same time', async () => {
    const store = new FaultyStore(new MemoryLockStore());
    const app = await withStore({ store });
    const health = app.get(LockHealth);
    await Promise.all([health.probe(), health.probe(), health.probe()]);
    expect(store.asked).toEqual(['tryAcquire', 'release']);
    await health.probe();
    expect(store.asked).toHaveLength(4);
    await app.close();
  });

  it('asks for no longer life than the locks it stands for, which a store may not grant', async () => {
    const store = new MemoryLockStore();
    const asked = jest.spyOn(store, 'tryAcquire');
    const app = await withStore({ store, ttlMs: 1_000 });
    await app.get(LockHealth).probe();
    expect(asked.mock.calls.map(([, , ttlMs]) => ttlMs)).toEqual([1_000]);
    await app.close();
  });

  it.each([
    ['a grant', 'tryAcquire', 'refuse'],
    ['an answer', 'tryAcquire', 'lose-request'],
    ['a release', 'release', 'lose-request'],
  ] as const)('fails without %s, and recovers', async (_what, operation, fault) => {
    const store = new FaultyStore(new MemoryLockStore());
    const app = await withStore({ store, commandTimeoutMs: 50 });
    store.next(operation, fault);
    await expect(app.get(LockHealth).probe()).rejects.toThrow(LockUnavailableError);
    await eventually(() =>
      app
        .get(LockHealth)
        .probe()
        .then(() => true),
    );
    await app.close();
  });

  it('fails once the application shuts down', async () => {
    const app = await withStore({ store: { kind: 'memory' } });
    await app.get(LockService).shutdown(0);
    await expect(app.get(LockHealth).probe()).rejects.toThrow(/shutting down/);
    await app.close();
  });
});
