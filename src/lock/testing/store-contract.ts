import assert from 'node:assert/strict';
import {
  type AcquireAllReply,
  type AcquireReply,
  type LockStore,
  type Place,
  TURN_MS,
} from '../core/lock-store.js';

/** What the contract needs to know of the store under test. */
export interface StoreUnderTest {
  readonly store: LockStore;
  /** Lets `ms` milliseconds pass for the store: really, or by moving its clock. */
  readonly elapse: (ms: number) => Promise<void>;
}

/** One promise of the contract. Run it under any test runner: it rejects when the store breaks it. */
export interface ContractCase {
  readonly promise: string;
  readonly verify: (under: StoreUnderTest) => Promise<void>;
}

const PROCESS = 'contract';
const TTL_MS = 30_000;
const SHORT_TTL_MS = 300;
const WAKE_ROUNDS = 100;
const WAKE_ROUND_MS = 20;

let names = 0;
let tokens = 0;
const newName = (rest = '') => `contract:${process.pid}-${Date.now()}-${(names += 1)}${rest}`;
const newPlace = (): Place => ({ process: `process-${(tokens += 1)}`, ticket: undefined });
const newToken = () => `contract-token-${(tokens += 1)}.process.label`;

function fenceOf(reply: AcquireReply): bigint {
  if (reply.status !== 'granted') assert.fail('busy instead of granted');
  return reply.fence;
}

function fencesOf(reply: AcquireAllReply): readonly bigint[] {
  return reply.status === 'granted' ? reply.fences : [];
}

function byTicket(a: string, b: string): number {
  return Number(BigInt(a) - BigInt(b));
}

function busy(reply: AcquireReply): Extract<AcquireReply, { status: 'busy' }> {
  if (reply.status !== 'busy') assert.fail('granted to a second holder');
  return reply;
}

/** The promises that every lock store keeps, the memory store included. */
export const lockStoreContract: readonly ContractCase[] = [
  {
    promise: 'grants a free lock and names its holder',
    async verify({ store }) {
      const [name, token] = [newName(), newToken()];
      assert.equal(await store.inspect(name), null);
      const fence = fenceOf(await store.tryAcquire(name, token, TTL_MS));
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
    async verify({ store, elapse }) {
      const [name, token] = [newName(), newToken()];
      const first = fenceOf(await store.tryAcquire(name, token, SHORT_TTL_MS));
      await elapse(SHORT_TTL_MS / 2);
      assert.equal(fenceOf(await store.tryAcquire(name, token, TTL_MS)), first);
      assert.ok(((await store.inspect(name))?.remainingMs ?? 0) > TTL_MS / 2);
    },
  },
  {
    promise: 'lets a lock expire, and gives the next holder a higher fence',
    async verify({ store, elapse }) {
      const name = newName();
      const first = fenceOf(await store.tryAcquire(name, newToken(), SHORT_TTL_MS));
      await elapse(SHORT_TTL_MS + 20);
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
    async verify({ store, elapse }) {
      const [name, late, next] = [newName(), newToken(), newToken()];
      await store.tryAcquire(name, late, SHORT_TTL_MS);
      await elapse(SHORT_TTL_MS + 20);
      await store.tryAcquire(name, next, TTL_MS);
      assert.equal(await store.release(name, late, PROCESS), 'not-held');
      assert.equal((await store.inspect(name))?.token, next);
    },
  },
  {
    promise: 'renews for the owner only, each lock of a batch by itself',
    async verify({ store, elapse }) {
      const [mine, foreign, gone] = [newName(), newName(), newName()];
      const [token, other] = [newToken(), newToken()];
      await store.tryAcquire(mine, token, SHORT_TTL_MS);
      await store.tryAcquire(foreign, other, SHORT_TTL_MS);
      const outcomes = await store.renew([
        { name: foreign, token, ttlMs: TTL_MS },
        { name: gone, token, ttlMs: TTL_MS },
        { name: mine, token, ttlMs: TTL_MS },
      ]);
      assert.deepEqual(outcomes, ['not-owner', 'not-owner', 'renewed']);
      await elapse(SHORT_TTL_MS + 20);
      assert.equal(await store.inspect(foreign), null);
      assert.equal(await store.inspect(gone), null);
      assert.equal((await store.inspect(mine))?.token, token);
    },
  },
  {
    promise: 'never takes a vanished lock again by renewing it',
    async verify({ store, elapse }) {
      const [name, token] = [newName(), newToken()];
      await store.tryAcquire(name, token, SHORT_TTL_MS);
      await elapse(SHORT_TTL_MS + 20);
      assert.deepEqual(await store.renew([{ name, token, ttlMs: TTL_MS }]), ['not-owner']);
      assert.equal(await store.inspect(name), null);
    },
  },
  {
    promise: 'never shortens a life by renewing',
    async verify({ store }) {
      const [name, token] = [newName(), newToken()];
      await store.tryAcquire(name, token, TTL_MS);
      assert.deepEqual(await store.renew([{ name, token, ttlMs: SHORT_TTL_MS }]), ['renewed']);
      assert.ok(((await store.inspect(name))?.remainingMs ?? 0) > TTL_MS / 2);
    },
  },
  {
    promise: 'never shortens a life by a repeated try: one that comes late must do no harm',
    async verify({ store }) {
      const [name, token] = [newName(), newToken()];
      const locks = [{ name, token }];
      await store.tryAcquire(name, token, SHORT_TTL_MS);
      assert.deepEqual(await store.renew([{ name, token, ttlMs: TTL_MS }]), ['renewed']);
      fenceOf(await store.tryAcquire(name, token, SHORT_TTL_MS));
      assert.ok(((await store.inspect(name))?.remainingMs ?? 0) > TTL_MS / 2);
      if (!store.tryAcquireAll) return;
      assert.equal(fencesOf(await store.tryAcquireAll(locks, SHORT_TTL_MS)).length, 1);
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
        ':queue',
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
    promise: 'hands a lock on to those who wait, in the order in which they came',
    async verify({ store }) {
      const name = newName();
      const [a, b, c] = [newPlace(), newPlace(), newPlace()];
      const holder = newToken();
      await store.tryAcquire(name, holder, TTL_MS);
      const tickets: string[] = [];
      for (const place of [a, b, c]) {
        const reply = busy(await store.tryAcquire(name, newToken(), TTL_MS, place));
        tickets.push(reply.ticket ?? '');
        assert.equal(reply.queued, tickets.length);
      }
      assert.deepEqual([...tickets].sort(byTicket), tickets);
      await store.release(name, holder, PROCESS);
      for (const [index, place] of [a, b, c].entries()) {
        // Neither those behind nor a newcomer overtakes, although the lock is free.
        const newcomer = busy(await store.tryAcquire(name, newToken(), TTL_MS));
        assert.ok((newcomer.remainingMs ?? Infinity) <= TURN_MS);
        for (const later of [a, b, c].slice(index + 1)) {
          busy(await store.tryAcquire(name, newToken(), TTL_MS, later));
        }
        const token = newToken();
        fenceOf(await store.tryAcquire(name, token, TTL_MS, place));
        await store.release(name, token, place.process);
      }
      const last = newToken();
      fenceOf(await store.tryAcquire(name, last, TTL_MS));
    },
  },
  {
    promise: 'passes over a head that misses its turn, and takes it back with its old ticket',
    async verify({ store, elapse }) {
      const name = newName();
      const [slow, next] = [newPlace(), newPlace()];
      const [holder, second] = [newToken(), newToken()];
      await store.tryAcquire(name, holder, TTL_MS);
      const { ticket } = busy(await store.tryAcquire(name, newToken(), TTL_MS, slow));
      busy(await store.tryAcquire(name, newToken(), TTL_MS, next));
      await store.release(name, holder, PROCESS);
      busy(await store.tryAcquire(name, second, TTL_MS, next));
      await elapse(TURN_MS + 20);
      fenceOf(await store.tryAcquire(name, second, TTL_MS, next));
      const back = busy(await store.tryAcquire(name, newToken(), TTL_MS, { ...slow, ticket }));
      assert.equal(back.ticket, ticket);
    },
  },
  {
    promise: 'keeps a lock that expired for the head of the line',
    async verify({ store, elapse }) {
      const [name, head] = [newName(), newPlace()];
      await store.tryAcquire(name, newToken(), SHORT_TTL_MS);
      busy(await store.tryAcquire(name, newToken(), TTL_MS, head));
      await elapse(SHORT_TTL_MS + 20);
      busy(await store.tryAcquire(name, newToken(), TTL_MS));
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS, head));
    },
  },
  {
    promise: 'forgets a process that leaves the line, and its turn goes to the next',
    async verify({ store }) {
      const [name, holder] = [newName(), newToken()];
      const [first, second] = [newPlace(), newPlace()];
      await store.tryAcquire(name, holder, TTL_MS);
      busy(await store.tryAcquire(name, newToken(), TTL_MS, first));
      busy(await store.tryAcquire(name, newToken(), TTL_MS, second));
      await store.release(name, holder, PROCESS);
      await store.leave(name, first.process);
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS, second));
      await store.leave(name, second.process);
    },
  },
  {
    promise: 'wakes the head of the line, and tells the one behind it to stand by',
    async verify({ store, elapse }) {
      const name = newName();
      const [head, standby] = [newPlace(), newPlace()];
      const woken: string[] = [];
      const stops = [head, standby].map(({ process }, index) =>
        store.onWake(process, (what, role) => {
          if (what === name) woken.push(`${index} ${role}`);
        }),
      );
      // A subscription may need a moment to stand; messages before that are lost by right.
      for (let round = 0; round < WAKE_ROUNDS && woken.length < 2; round += 1) {
        woken.length = 0;
        const holder = newToken();
        fenceOf(await store.tryAcquire(name, holder, TTL_MS));
        busy(await store.tryAcquire(name, newToken(), TTL_MS, head));
        busy(await store.tryAcquire(name, newToken(), TTL_MS, standby));
        assert.equal(await store.release(name, holder, PROCESS), 'released');
        await elapse(WAKE_ROUND_MS);
        for (const { process } of [standby, head]) await store.leave(name, process);
      }
      for (const stop of stops) stop();
      assert.deepEqual(woken.slice(0, 2).sort(), ['0 turn', '1 standby']);
    },
  },
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
    async verify({ store, elapse }) {
      const [name, token] = [newName(), newToken()];
      await store.tryAcquire(name, token, SHORT_TTL_MS);
      assert.equal(await store.revoke(name, token, PROCESS), true);
      await elapse(SHORT_TTL_MS + 20);
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS));
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
  {
    promise: 'takes several locks together, all or none, where it can',
    async verify({ store }) {
      if (!store.tryAcquireAll) return;
      const base = newName();
      const locks = ['a', 'b', 'c'].map((end) => ({ name: `${base}:${end}`, token: newToken() }));
      const first = await store.tryAcquireAll(locks, TTL_MS);
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
