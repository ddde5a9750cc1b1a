import assert from 'node:assert/strict';
import { LockManager } from '../../core/lock-manager.js';
import { type LockStore } from '../../core/lock-store.js';
import {
  PROCESS,
  TTL_MS,
  newName,
  newToken,
  fenceOf,
  fencesOf,
  busy,
  mortalClient,
  shortTtlMs,
  type ContractCase,
} from './contract-case.js';

/** Of a store that cannot take several at once the engine takes one by one: still all or none, by other steps. */
async function takesOneAfterTheOther(store: LockStore, base: string): Promise<void> {
  const engine = new LockManager({ store, defaults: { ttlMs: TTL_MS } });
  const names = (...ends: string[]) => ends.map((end) => `${base}:${end}`);
  const all = await engine.acquireAll(names('a', 'b', 'c'), { ttlMs: TTL_MS });
  for (const name of names('a', 'b', 'c')) {
    assert.equal((await store.inspect(name))?.fence, all.fenceOf(name));
  }
  await assert.rejects(engine.acquireAll(names('0', 'c')), { code: 'LOCK_BUSY' });
  assert.equal(await store.inspect(`${base}:0`), null);
  assert.equal(await all.release(), 'released');
  for (const name of names('a', 'b', 'c')) assert.equal(await store.inspect(name), null);
}

/** Taking, renewing, releasing, fences. */
export const holding: readonly ContractCase[] = [
  {
    promise: 'grants a free lock and names its holder',
    async verify({ store }) {
      const [name, token] = [newName(), newToken()];
      assert.equal(await store.inspect(name), null);
      const reply = await store.tryAcquire(name, token, TTL_MS);
      const fence = fenceOf(reply);
      assert.ok(reply.status === 'granted' && Number.isInteger(reply.storeTimeMs));
      const stored = await store.inspect(name);
      assert.equal(stored?.token, token);
      assert.equal(stored?.fence, fence);
      const remaining = stored?.remainingMs ?? 0;
      assert.ok(remaining > TTL_MS / 2 && remaining <= TTL_MS, `remaining ${remaining}`);
    },
  },
  {
    promise: 'tells everybody else that it is busy, and for how long at most',
    async verify({ store }) {
      const name = newName();
      await store.tryAcquire(name, newToken(), TTL_MS);
      const reply = busy(await store.tryAcquire(name, newToken(), TTL_MS));
      const remaining = reply.remainingMs ?? 0;
      assert.ok(remaining > TTL_MS / 2 && remaining <= TTL_MS, `remaining ${remaining}`);
      assert.ok((reply.heldForMs ?? 0) < TTL_MS / 2, `held for ${reply.heldForMs}`);
    },
  },
  {
    promise: 'grants one of many simultaneous tries',
    async verify({ store }) {
      const name = newName();
      const tries = Array.from({ length: 50 }, () => store.tryAcquire(name, newToken(), TTL_MS));
      const granted = (await Promise.all(tries)).filter((reply) => reply.status === 'granted');
      assert.equal(granted.length, 1);
    },
  },
  {
    promise:
      'grants a repeated try of the same token again, with the same fence and at least the full TTL',
    async verify(under) {
      const { store, elapse } = under;
      const [name, token] = [newName(), newToken()];
      const first = fenceOf(await store.tryAcquire(name, token, shortTtlMs(under)));
      await elapse(shortTtlMs(under) / 2);
      assert.equal(fenceOf(await store.tryAcquire(name, token, TTL_MS)), first);
      assert.ok(((await store.inspect(name))?.remainingMs ?? 0) > TTL_MS / 2);
    },
  },
  {
    promise: 'lets a lock expire, and gives the next holder a higher fence',
    async verify(under) {
      const { store } = under;
      const [name, dying] = [newName(), await mortalClient(under)];
      const first = fenceOf(await dying.store.tryAcquire(name, newToken(), shortTtlMs(under)));
      await dying.end();
      assert.equal(await store.inspect(name), null);
      const second = fenceOf(await store.tryAcquire(name, newToken(), TTL_MS));
      assert.ok(second > first, `${second} after ${first}`);
    },
  },
  {
    promise: 'raises the fence with every change of owner, however fast',
    async verify({ store }) {
      const name = newName();
      let last = 0n;
      for (let round = 0; round < 25; round += 1) {
        const token = newToken();
        const fence = fenceOf(await store.tryAcquire(name, token, TTL_MS));
        assert.ok(fence > last, `${fence} after ${last}`);
        last = fence;
        assert.equal(await store.release(name, token, PROCESS), 'released');
      }
    },
  },
  {
    promise: 'releases for the owner only, and only once',
    async verify({ store }) {
      const [name, owner, other] = [newName(), newToken(), newToken()];
      await store.tryAcquire(name, owner, TTL_MS);
      assert.equal(await store.release(name, other, PROCESS), 'not-held');
      assert.equal((await store.inspect(name))?.token, owner);
      assert.equal(await store.release(name, owner, PROCESS), 'released');
      assert.equal(await store.inspect(name), null);
      assert.equal(await store.release(name, owner, PROCESS), 'not-held');
    },
  },
  {
    promise: 'never releases the next holder in place of one whose lock expired',
    async verify(under) {
      const { store } = under;
      const [name, late, next] = [newName(), newToken(), newToken()];
      const dying = await mortalClient(under);
      fenceOf(await dying.store.tryAcquire(name, late, shortTtlMs(under)));
      await dying.end();
      fenceOf(await store.tryAcquire(name, next, TTL_MS));
      assert.equal(await dying.store.release(name, late, PROCESS), 'not-held');
      assert.equal((await store.inspect(name))?.token, next);
    },
  },
  {
    promise: 'renews for the owner only, each lock of a batch by itself',
    async verify(under) {
      const { store } = under;
      const [mine, foreign, gone] = [newName(), newName(), newName()];
      const [token, other] = [newToken(), newToken()];
      const dying = await mortalClient(under);
      fenceOf(await dying.store.tryAcquire(foreign, other, shortTtlMs(under)));
      fenceOf(await store.tryAcquire(mine, token, shortTtlMs(under)));
      const outcomes = await store.renew([
        { name: foreign, token, ttlMs: TTL_MS },
        { name: gone, token, ttlMs: TTL_MS },
        { name: mine, token, ttlMs: TTL_MS },
      ]);
      assert.deepEqual(outcomes, ['not-owner', 'not-owner', 'renewed']);
      await dying.end();
      assert.equal(await store.inspect(foreign), null);
      assert.equal(await store.inspect(gone), null);
      assert.equal((await store.inspect(mine))?.token, token);
    },
  },
  {
    promise: 'never takes a vanished lock again by renewing it',
    async verify(under) {
      const { store } = under;
      const [name, token] = [newName(), newToken()];
      const dying = await mortalClient(under);
      fenceOf(await dying.store.tryAcquire(name, token, shortTtlMs(under)));
      await dying.end();
      assert.deepEqual(await dying.store.renew([{ name, token, ttlMs: TTL_MS }]), ['not-owner']);
      assert.equal(await store.inspect(name), null);
    },
  },
  {
    promise: 'never shortens a life by renewing',
    async verify(under) {
      const { store } = under;
      const [name, token] = [newName(), newToken()];
      await store.tryAcquire(name, token, TTL_MS);
      const renewals = [{ name, token, ttlMs: shortTtlMs(under) }];
      assert.deepEqual(await store.renew(renewals), ['renewed']);
      assert.ok(((await store.inspect(name))?.remainingMs ?? 0) > TTL_MS / 2);
    },
  },
  {
    promise: 'never shortens a life by a repeated try: one that comes late must do no harm',
    async verify(under) {
      const { store } = under;
      const [name, token] = [newName(), newToken()];
      const locks = [{ name, token }];
      await store.tryAcquire(name, token, shortTtlMs(under));
      assert.deepEqual(await store.renew([{ name, token, ttlMs: TTL_MS }]), ['renewed']);
      fenceOf(await store.tryAcquire(name, token, shortTtlMs(under)));
      assert.ok(((await store.inspect(name))?.remainingMs ?? 0) > TTL_MS / 2);
      if (store.tryAcquireAll) {
        assert.equal(fencesOf(await store.tryAcquireAll(locks, shortTtlMs(under))).length, 1);
      }
      assert.ok(((await store.inspect(name))?.remainingMs ?? 0) > TTL_MS / 2);
    },
  },
  {
    promise: 'keeps names apart, awkward ones too',
    async verify({ store }) {
      const base = newName();
      const endings = [
        '',
        ':fence',
        ':none',
        ':waiters',
        '%7B',
        'é',
        'e\u0301',
        '/',
        '.',
        '*',
        '[a]',
        '😀',
      ];
      const all = endings.map((ending) => [base + ending, newToken()] as const);
      for (const [name, token] of all) fenceOf(await store.tryAcquire(name, token, TTL_MS));
      for (const [name, token] of all) assert.equal((await store.inspect(name))?.token, token);
      for (const [name, token] of all)
        assert.equal(await store.release(name, token, PROCESS), 'released');
    },
  },
  {
    promise: 'takes several locks together, all or none, where it can',
    async verify({ store }) {
      const base = newName();
      if (!store.tryAcquireAll) return takesOneAfterTheOther(store, base);
      const locks = ['a', 'b', 'c'].map((end) => ({ name: `${base}:${end}`, token: newToken() }));
      const first = await store.tryAcquireAll(locks, TTL_MS);
      if (first.status === 'apart') return takesOneAfterTheOther(store, base);
      assert.equal(first.status, 'granted');
      const again = await store.tryAcquireAll(locks, TTL_MS);
      assert.deepEqual(fencesOf(again), fencesOf(first));
      const others = ['c', 'd'].map((end) => ({ name: `${base}:${end}`, token: newToken() }));
      const second = await store.tryAcquireAll(others, TTL_MS);
      assert.equal(second.status === 'busy' && second.name, `${base}:c`);
      assert.equal(await store.inspect(`${base}:d`), null);
      for (const { name, token } of locks) {
        assert.equal(await store.release(name, token, PROCESS), 'released');
      }
    },
  },
];
