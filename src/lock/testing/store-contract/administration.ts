import assert from 'node:assert/strict';
import {
  PROCESS,
  TTL_MS,
  newName,
  newToken,
  fenceOf,
  busy,
  mortalClient,
  shortTtlMs,
  type ContractCase,
} from './contract-case.js';

/** What operators do. */
export const administration: readonly ContractCase[] = [
  {
    promise: 'revokes a lock without granting it to anybody before the holder has let go',
    async verify({ store }) {
      const [name, token] = [newName(), newToken()];
      await store.tryAcquire(name, token, TTL_MS);
      assert.equal(await store.revoke(name, newToken(), PROCESS), false);
      assert.equal(await store.revoke(name, token, PROCESS), true);
      assert.equal((await store.inspect(name))?.revoked, true);
      assert.equal((await store.inspect(name))?.token, token);
      busy(await store.tryAcquire(name, newToken(), TTL_MS));
      busy(await store.tryAcquire(name, token, TTL_MS));
      assert.deepEqual(await store.renew([{ name, token, ttlMs: TTL_MS * 2 }]), ['revoked']);
      assert.ok(((await store.inspect(name))?.remainingMs ?? Infinity) <= TTL_MS);
      assert.equal(await store.release(name, token, PROCESS), 'released');
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS));
    },
  },
  {
    promise: 'lets a revoked lock of a dead holder expire',
    async verify(under) {
      const { store } = under;
      const [name, token] = [newName(), newToken()];
      const dying = await mortalClient(under);
      fenceOf(await dying.store.tryAcquire(name, token, shortTtlMs(under)));
      assert.equal(await store.revoke(name, token, PROCESS), true);
      await dying.end();
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS));
    },
  },
  {
    promise: 'lets everybody who knows its token delete a lock that was revoked',
    async verify(under) {
      const { store } = under;
      const [name, token] = [newName(), newToken()];
      const dead = await mortalClient(under);
      fenceOf(await dead.store.tryAcquire(name, token, shortTtlMs(under)));
      assert.equal(await store.revoke(name, token, PROCESS), true);
      assert.equal(await store.release(name, token, PROCESS), 'released');
      assert.equal(await store.inspect(name), null);
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS));
      await dead.end();
    },
  },
  {
    promise: 'lists the locks that are held',
    async verify({ store }) {
      const base = newName();
      const all = Array.from({ length: 30 }, (_, index) => `${base}:${index}`);
      const owners = all.map(() => newToken());
      await Promise.all(
        all.map((name, index) => store.tryAcquire(name, owners[index] ?? '', TTL_MS)),
      );
      await store.release(all[7] ?? '', owners[7] ?? '', PROCESS);
      const listed = new Map<string, string>();
      for await (const page of store.list()) {
        for (const { name, token } of page) if (name.startsWith(base)) listed.set(name, token);
      }
      assert.equal(listed.size, all.length - 1);
      for (const [index, name] of all.entries()) {
        assert.equal(listed.get(name), index === 7 ? undefined : owners[index]);
      }
    },
  },
];
