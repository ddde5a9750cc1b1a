import assert from 'node:assert/strict';
import { type PermitStore, TURN_MS } from '../core/lock-store.js';
import {
  busy,
  fenceOf,
  newName,
  newPlace,
  newToken,
  PROCESS,
  SHORT_TTL_MS,
  TTL_MS,
} from './store-contract/contract-case.js';

/** What the contract needs to know of the semaphores under test. */
export interface SemaphoresUnderTest {
  /** A store's semaphores of so many permits: `(permits) => store.semaphores(permits)`. */
  readonly semaphores: (permits: number) => PermitStore;
  /** Lets `ms` milliseconds pass for the store: really, or by moving its clock. */
  readonly elapse: (ms: number) => Promise<void>;
}

/** One promise of the contract; `verify` rejects when the semaphores under test break it. */
export interface SemaphoreCase {
  readonly promise: string;
  readonly verify: (under: SemaphoresUnderTest) => Promise<void>;
}

const RANDOM_STEPS = 400;

/** A repeatable random whole number from 0 to less than `most`. */
function seeded(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * most);
  };
}

async function fill(store: PermitStore, name: string, count: number): Promise<string[]> {
  const tokens = Array.from({ length: count }, newToken);
  for (const token of tokens) fenceOf(await store.tryAcquire(name, token, TTL_MS));
  return tokens;
}

/** Permits: how many, to whom, for how long. */
const holding: readonly SemaphoreCase[] = [
  {
    promise: 'grants as many permits as there are, and no more',
    async verify({ semaphores }) {
      const [store, name] = [semaphores(3), newName()];
      const tokens = await fill(store, name, 3);
      const reply = busy(await store.tryAcquire(name, newToken(), TTL_MS));
      const remaining = reply.remainingMs ?? 0;
      assert.ok(remaining > TTL_MS / 2 && remaining <= TTL_MS, `remaining ${remaining}`);
      const holders = await store.holders(name);
      assert.deepEqual(holders.map(({ token }) => token).sort(), [...tokens].sort());
    },
  },
  {
    promise: 'grants exactly as many of many simultaneous tries',
    async verify({ semaphores }) {
      const [store, name] = [semaphores(7), newName()];
      const tries = Array.from({ length: 50 }, () => store.tryAcquire(name, newToken(), TTL_MS));
      const granted = (await Promise.all(tries)).filter(({ status }) => status === 'granted');
      assert.equal(granted.length, 7);
    },
  },
  {
    promise: 'raises the fence with every grant',
    async verify({ semaphores }) {
      const [store, name] = [semaphores(2), newName()];
      const fences: bigint[] = [];
      for (let round = 0; round < 20; round += 1) {
        const token = newToken();
        fences.push(fenceOf(await store.tryAcquire(name, token, TTL_MS)));
        await store.release(name, token, PROCESS);
      }
      assert.ok(fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? 0n)));
    },
  },
  {
    promise: 'grants a repeated try again, with the same fence, and counts it once',
    async verify({ semaphores, elapse }) {
      const [store, name, token] = [semaphores(2), newName(), newToken()];
      const first = fenceOf(await store.tryAcquire(name, token, SHORT_TTL_MS));
      await elapse(SHORT_TTL_MS / 2);
      assert.equal(fenceOf(await store.tryAcquire(name, token, TTL_MS)), first);
      const [holder] = await store.holders(name);
      assert.ok((holder?.remainingMs ?? 0) > TTL_MS / 2);
      fenceOf(await store.tryAcquire(name, token, SHORT_TTL_MS));
      assert.ok(((await store.holders(name))[0]?.remainingMs ?? 0) > TTL_MS / 2);
      await fill(store, name, 1);
      busy(await store.tryAcquire(name, newToken(), TTL_MS));
      fenceOf(await store.tryAcquire(name, token, TTL_MS));
    },
  },
  {
    promise: 'takes a permit back from its holder only, and only once',
    async verify({ semaphores }) {
      const [store, name] = [semaphores(2), newName()];
      const [mine = '', other] = await fill(store, name, 2);
      assert.equal(await store.release(name, newToken(), PROCESS), 'not-held');
      assert.equal(await store.release(name, mine, PROCESS), 'released');
      assert.equal(await store.release(name, mine, PROCESS), 'not-held');
      assert.deepEqual(
        (await store.holders(name)).map(({ token }) => token),
        [other],
      );
      await fill(store, name, 1);
      busy(await store.tryAcquire(name, newToken(), TTL_MS));
    },
  },
  {
    promise: 'gives the permit of a holder who died to the next one, and nobody else’s',
    async verify({ semaphores, elapse }) {
      const [store, name] = [semaphores(2), newName()];
      const [living = ''] = await fill(store, name, 1);
      const dead = newToken();
      fenceOf(await store.tryAcquire(name, dead, SHORT_TTL_MS));
      const reply = busy(await store.tryAcquire(name, newToken(), TTL_MS));
      assert.ok((reply.remainingMs ?? Infinity) <= SHORT_TTL_MS);
      await elapse(SHORT_TTL_MS + 20);
      const [next = ''] = await fill(store, name, 1);
      busy(await store.tryAcquire(name, newToken(), TTL_MS));
      assert.equal(await store.release(name, dead, PROCESS), 'not-held');
      assert.deepEqual(
        (await store.holders(name)).map(({ token }) => token).sort(),
        [living, next].sort(),
      );
    },
  },
  {
    promise: 'renews for holders only, each by itself, and never brings a permit back',
    async verify({ semaphores, elapse }) {
      const [store, name, other] = [semaphores(2), newName(), newName()];
      const [mine, late, elsewhere] = [newToken(), newToken(), newToken()];
      for (const token of [mine, late]) await store.tryAcquire(name, token, SHORT_TTL_MS);
      await store.tryAcquire(other, elsewhere, SHORT_TTL_MS);
      const renewal = { name, token: mine, ttlMs: TTL_MS };
      const wrong = { name: other, token: mine, ttlMs: TTL_MS };
      assert.deepEqual(await store.renew([wrong, renewal]), ['not-owner', 'renewed']);
      await elapse(SHORT_TTL_MS + 20);
      assert.deepEqual(await store.renew([{ ...renewal, token: late }]), ['not-owner']);
      assert.deepEqual(
        (await store.holders(name)).map(({ token }) => token),
        [mine],
      );
      assert.deepEqual(await store.renew([{ ...renewal, ttlMs: SHORT_TTL_MS }]), ['renewed']);
      assert.ok(((await store.holders(name))[0]?.remainingMs ?? 0) > TTL_MS / 2);
      assert.deepEqual(await store.holders(other), []);
    },
  },
  {
    promise: 'counts every holder against its own number of permits',
    async verify({ semaphores }) {
      const [few, many, name] = [semaphores(2), semaphores(4), newName()];
      const held = await fill(many, name, 3);
      busy(await few.tryAcquire(name, newToken(), TTL_MS));
      await many.release(name, held[0] ?? '', PROCESS);
      busy(await few.tryAcquire(name, newToken(), TTL_MS));
      await few.release(name, held[1] ?? '', PROCESS);
      await fill(few, name, 1);
      busy(await few.tryAcquire(name, newToken(), TTL_MS));
      await fill(many, name, 2);
      busy(await many.tryAcquire(name, newToken(), TTL_MS));
    },
  },
  {
    promise: 'keeps names apart',
    async verify({ semaphores }) {
      const [store, base] = [semaphores(1), newName()];
      for (const ending of ['', ':holders', ':permits', ':waiters', '%7B', 'é', '/', '*']) {
        await fill(store, base + ending, 1);
      }
    },
  },
  {
    promise: 'never has more holders than permits, whatever is done in which order',
    async verify({ semaphores }) {
      const [store, name, random] = [semaphores(4), newName(), seeded(7)];
      const held: string[] = [];
      for (let step = 0; step < RANDOM_STEPS; step += 1) {
        const token = held[random(held.length)];
        if (random(3) > 0 || token === undefined) {
          const fresh = random(4) > 0 || token === undefined ? newToken() : token;
          const { status } = await store.tryAcquire(name, fresh, TTL_MS);
          const expected = held.includes(fresh) || held.length < 4 ? 'granted' : 'busy';
          assert.equal(status, expected, `step ${step}`);
          if (status === 'granted' && !held.includes(fresh)) held.push(fresh);
        } else {
          assert.equal(await store.release(name, token, PROCESS), 'released', `step ${step}`);
          held.splice(held.indexOf(token), 1);
        }
      }
      const now = (await store.holders(name)).map((one) => one.token);
      assert.deepEqual(now.sort(), held.sort());
    },
  },
];

/** The line of those who wait. */
const waiting: readonly SemaphoreCase[] = [
  {
    promise: 'hands permits on to those who wait, in the order in which they came',
    async verify({ semaphores }) {
      const [store, name] = [semaphores(2), newName()];
      const held = await fill(store, name, 2);
      const places = [newPlace(), newPlace(), newPlace()];
      for (const [at, place] of places.entries()) {
        assert.equal(busy(await store.tryAcquire(name, newToken(), TTL_MS, place)).queued, at + 1);
      }
      for (const [at, place] of places.entries()) {
        await store.release(name, held.shift() ?? '', PROCESS);
        // Neither those behind nor a newcomer overtakes, although a permit is free.
        const newcomer = busy(await store.tryAcquire(name, newToken(), TTL_MS));
        assert.ok((newcomer.remainingMs ?? Infinity) <= TURN_MS);
        for (const later of places.slice(at + 1)) {
          busy(await store.tryAcquire(name, newToken(), TTL_MS, later));
        }
        const token = newToken();
        fenceOf(await store.tryAcquire(name, token, TTL_MS, place));
        held.push(token);
      }
      await store.release(name, held[0] ?? '', PROCESS);
      await fill(store, name, 1);
    },
  },
  {
    promise: 'passes the turn on when several permits are free, whoever lets them go',
    async verify({ semaphores, elapse }) {
      const [store, name] = [semaphores(2), newName()];
      const [first, second] = [newPlace(), newPlace()];
      const turns: string[] = [];
      const stop = store.onWake(second.process, (what, role) => {
        if (what === name && role === 'turn') turns.push(role);
      });
      // A subscription may need a moment to stand; messages before that are lost by right.
      for (let round = 0; round < 100 && turns.length === 0; round += 1) {
        const held = await fill(store, name, 2);
        for (const place of [first, second]) {
          busy(await store.tryAcquire(name, newToken(), TTL_MS, place));
        }
        for (const token of held) await store.release(name, token, PROCESS);
        const tokens = [newToken(), newToken()] as const;
        fenceOf(await store.tryAcquire(name, tokens[0], TTL_MS, first));
        await elapse(20);
        fenceOf(await store.tryAcquire(name, tokens[1], TTL_MS, second));
        for (const token of tokens) await store.release(name, token, PROCESS);
      }
      stop();
      assert.ok(turns.length > 0, 'the second in line was never woken');
    },
  },
  {
    promise: 'passes over a head that misses its turn, and takes it back with its old ticket',
    async verify({ semaphores, elapse }) {
      const [store, name] = [semaphores(1), newName()];
      const [holder = ''] = await fill(store, name, 1);
      const [slow, next, token] = [newPlace(), newPlace(), newToken()];
      const { ticket } = busy(await store.tryAcquire(name, newToken(), TTL_MS, slow));
      busy(await store.tryAcquire(name, token, TTL_MS, next));
      await store.release(name, holder, PROCESS);
      busy(await store.tryAcquire(name, token, TTL_MS, next));
      await elapse(TURN_MS + 20);
      fenceOf(await store.tryAcquire(name, token, TTL_MS, next));
      const back = busy(await store.tryAcquire(name, newToken(), TTL_MS, { ...slow, ticket }));
      assert.equal(back.ticket, ticket);
    },
  },
  {
    promise: 'keeps the permit of a holder who died for the head of the line',
    async verify({ semaphores, elapse }) {
      const [store, name, head] = [semaphores(1), newName(), newPlace()];
      await store.tryAcquire(name, newToken(), SHORT_TTL_MS);
      busy(await store.tryAcquire(name, newToken(), TTL_MS, head));
      await elapse(SHORT_TTL_MS + 20);
      busy(await store.tryAcquire(name, newToken(), TTL_MS));
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS, head));
    },
  },
  {
    promise: 'forgets a process that leaves the line, and its turn goes to the next',
    async verify({ semaphores }) {
      const [store, name] = [semaphores(1), newName()];
      const [holder = ''] = await fill(store, name, 1);
      const [first, second] = [newPlace(), newPlace()];
      for (const place of [first, second]) {
        busy(await store.tryAcquire(name, newToken(), TTL_MS, place));
      }
      await store.release(name, holder, PROCESS);
      await store.leave(name, first.process);
      fenceOf(await store.tryAcquire(name, newToken(), TTL_MS, second));
    },
  },
];

/** The promises that the semaphores of every store that has them keep. Run it under any test runner. */
export const semaphoreContract: readonly SemaphoreCase[] = [...holding, ...waiting];
