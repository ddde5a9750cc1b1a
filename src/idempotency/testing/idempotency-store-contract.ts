import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { IdempotencyStore, StoredAnswer } from '../idempotency-store.js';

/** One promise of the port for idempotency records; `verify` rejects when the store under test breaks it. */
export interface IdempotencyStoreCase {
  readonly promise: string;
  readonly verify: (store: IdempotencyStore) => Promise<void>;
}

const fence = 1_767_236_400_000_123n; // as fences are: microseconds of a server's clock
const ttlMs = 60_000;
const fingerprint = 'a'.repeat(64);
const other = 'b'.repeat(64);
const begin = {
  fingerprint,
  fence,
  get nowMs() {
    return Date.now();
  },
};
const answer: StoredAnswer = {
  status: 201,
  headers: { location: '/things/7', 'x-ü': 'ÿ' },
  body: JSON.stringify({ text: 'quotes " and \\, \0, line\nends, 😀', list: [1, null] }),
};
const finish = {
  fence,
  answer,
  ttlMs,
  get nowMs() {
    return Date.now();
  },
};

/** The promises that every store of idempotency records keeps. Run it under any test runner. */
export const idempotencyStoreContract: readonly IdempotencyStoreCase[] = [
  {
    promise: 'knows nothing of a key that nobody has used',
    async verify(store) {
      assert.equal(await store.find(randomUUID()), null);
    },
  },
  {
    promise: 'tells what a key was first used for, while it is under way and when it is done',
    async verify(store) {
      const id = randomUUID();
      assert.equal(await store.begin(id, begin), 'begun');
      assert.deepEqual(await store.find(id), { fingerprint, fence, answer: null });
      assert.equal(await store.finish(id, finish), 'kept');
      assert.deepEqual(await store.find(id), { fingerprint, fence, answer });
    },
  },
  {
    promise: 'gives the kept answer to whoever begins later, whatever its fence and fingerprint',
    async verify(store) {
      const id = randomUUID();
      await store.begin(id, begin);
      await store.finish(id, finish);
      for (const later of [begin, { ...begin, fence: fence + 1n, fingerprint: other }]) {
        assert.deepEqual(await store.begin(id, later), { fingerprint, fence, answer });
      }
    },
  },
  {
    promise: 'keeps an answer without a body',
    async verify(store) {
      const id = randomUUID();
      const empty = { status: 204, headers: {}, body: null };
      await store.begin(id, begin);
      await store.finish(id, { ...finish, answer: empty });
      assert.deepEqual((await store.find(id))?.answer, empty);
    },
  },
  {
    promise: 'answers a repeated call as the first time, since the reply may have been lost',
    async verify(store) {
      const id = randomUUID();
      for (let round = 0; round < 3; round += 1)
        assert.equal(await store.begin(id, begin), 'begun');
      for (let round = 0; round < 3; round += 1)
        assert.equal(await store.finish(id, finish), 'kept');
    },
  },
  {
    promise: 'lets a newer fence take over what was begun, for the same request only',
    async verify(store) {
      const id = randomUUID();
      await store.begin(id, begin);
      assert.deepEqual(await store.begin(id, { ...begin, fence: fence + 1n, fingerprint: other }), {
        fingerprint,
        fence,
        answer: null,
      });
      assert.equal(await store.begin(id, { ...begin, fence: fence + 1n }), 'begun');
      assert.equal((await store.find(id))?.fence, fence + 1n);
    },
  },
  {
    promise: 'refuses whoever was taken over, in beginning, finishing and dropping',
    async verify(store) {
      const id = randomUUID();
      await store.begin(id, begin);
      await store.begin(id, { ...begin, fence: fence + 1n });
      assert.equal(await store.begin(id, begin), 'stale');
      assert.equal(await store.finish(id, finish), 'stale');
      await store.drop(id, fence);
      assert.deepEqual(await store.find(id), { fingerprint, fence: fence + 1n, answer: null });
      assert.equal(await store.finish(id, { ...finish, fence: fence + 1n }), 'kept');
      assert.equal(await store.finish(id, finish), 'stale');
    },
  },
  {
    promise: 'compares fences as numbers, however long',
    async verify(store) {
      for (const [low, high] of [
        [9n, 10n],
        [2n ** 62n, 2n ** 62n + 1n],
      ] as const) {
        const id = randomUUID();
        assert.equal(await store.begin(id, { ...begin, fence: high }), 'begun');
        assert.equal(await store.begin(id, { ...begin, fence: low }), 'stale');
      }
    },
  },
  {
    promise: 'never keeps an answer of what was not begun, or was dropped',
    async verify(store) {
      const id = randomUUID();
      assert.equal(await store.finish(id, finish), 'stale');
      await store.begin(id, begin);
      await store.drop(id, fence);
      assert.equal(await store.find(id), null);
      assert.equal(await store.finish(id, finish), 'stale');
      assert.equal(await store.find(id), null);
      assert.equal(
        await store.begin(id, { ...begin, fence: fence + 1n, fingerprint: other }),
        'begun',
      );
    },
  },
  {
    promise: 'never drops an answer that was kept',
    async verify(store) {
      const id = randomUUID();
      await store.begin(id, begin);
      await store.finish(id, finish);
      await store.drop(id, fence);
      assert.deepEqual((await store.find(id))?.answer, answer);
    },
  },
  {
    promise: 'knows nothing of an answer that has expired, swept or not',
    async verify(store) {
      const [finished, swept, lasting] = [randomUUID(), randomUUID(), randomUUID()];
      for (const id of [finished, swept, lasting]) await store.begin(id, begin);
      for (const id of [finished, swept]) await store.finish(id, { ...finish, ttlMs: 50 });
      await store.finish(lasting, finish);
      await untilGone(store, [finished, swept]);
      const newer = () => ({ ...begin, fence: fence + 1n, fingerprint: other });
      assert.equal(await store.begin(finished, newer()), 'begun');
      await store.sweep(Date.now());
      assert.equal(await store.begin(swept, newer()), 'begun');
      assert.equal((await store.find(finished))?.fingerprint, other);
      assert.equal((await store.find(lasting))?.fingerprint, fingerprint);
    },
  },
  {
    promise: 'knows what was begun until it ends, however short the life of answers',
    async verify(store) {
      const [begun, finished] = [randomUUID(), randomUUID()];
      await store.begin(begun, begin);
      await store.begin(finished, begin);
      await store.finish(finished, { ...finish, ttlMs: 50 });
      await untilGone(store, [finished]);
      await store.sweep(Date.now());
      const differs = { ...begin, fence: fence + 1n, fingerprint: other };
      const known = { fingerprint, fence, answer: null };
      assert.deepEqual(await store.find(begun), known);
      assert.deepEqual(await store.begin(begun, differs), known);
      assert.equal(await store.finish(begun, { ...finish, ttlMs: 50 }), 'kept');
      await untilGone(store, [begun]);
    },
  },
  {
    promise: 'keeps one of many simultaneous beginnings on top: that with the highest fence',
    async verify(store) {
      const id = randomUUID();
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          store.begin(id, { ...begin, fence: fence + BigInt(index) }),
        ),
      );
      const kept = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          store.finish(id, { ...finish, fence: fence + BigInt(index) }),
        ),
      );
      assert.deepEqual(kept.indexOf('kept'), 19);
    },
  },
  {
    promise: 'keeps ids apart',
    async verify(store) {
      const id = randomUUID();
      await store.begin(id, begin);
      assert.equal(await store.find(`${id}:none`), null);
      assert.equal(await store.begin(id.slice(0, -1), { ...begin, fingerprint: other }), 'begun');
    },
  },
];

async function untilGone(store: IdempotencyStore, ids: readonly string[]): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (const id of ids) {
    while ((await store.find(id)) !== null) {
      assert.ok(performance.now() < deadline, 'an answer must expire');
      await delay(20);
    }
  }
}
