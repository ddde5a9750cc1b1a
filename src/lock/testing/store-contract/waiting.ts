import assert from 'node:assert/strict';
import { type LockStore, type Place, TURN_MS } from '../../core/lock-store.js';
import {
  PROCESS,
  TTL_MS,
  newName,
  newPlace,
  newToken,
  fenceOf,
  busy,
  mortalClient,
  shortTtlMs,
  type ContractCase,
} from './contract-case.js';

const WAKE_ROUNDS = 100;
const WAKE_ROUND_MS = 20;

function byTicket(a: string, b: string): number {
  return Number(BigInt(a) - BigInt(b));
}

/** Where a store keeps no line, that shows: who waits gets no ticket and is not counted. */
async function busyWithoutLine(store: LockStore, name: string, place: Place): Promise<void> {
  const reply = busy(await store.tryAcquire(name, newToken(), TTL_MS, place));
  assert.equal(reply.ticket, undefined);
  assert.equal(reply.queued, 0);
}

/** The line of those who wait; of a store that declares that it keeps none, that nobody is held up by one. */
export const waiting: readonly ContractCase[] = [
  {
    promise: 'hands a lock on to those who wait, in the order in which they came',
    async verify({ store }) {
      const name = newName();
      const [a, b, c] = [newPlace(), newPlace(), newPlace()];
      const holder = newToken();
      await store.tryAcquire(name, holder, TTL_MS);
      if (!store.capabilities.fairWaiting) {
        for (const place of [a, b, c]) await busyWithoutLine(store, name, place);
        await store.release(name, holder, PROCESS);
        for (const place of [c, undefined, a]) {
          const token = newToken();
          fenceOf(await store.tryAcquire(name, token, TTL_MS, place)); // whoever is faster
          await store.release(name, token, PROCESS);
        }
        return;
      }
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
      if (!store.capabilities.fairWaiting) {
        for (const place of [slow, next]) await busyWithoutLine(store, name, place);
        await store.release(name, holder, PROCESS);
        fenceOf(await store.tryAcquire(name, second, TTL_MS, next)); // no turn was kept for the other
        return busyWithoutLine(store, name, slow);
      }
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
    promise: 'moves a process to the ticket of its next waiter with the grant, if it declares to',
    async verify({ store, elapse }) {
      const [name, holder, token] = [newName(), newToken(), newToken()];
      const [a, b, c] = [newPlace(), newPlace(), newPlace()];
      await store.tryAcquire(name, holder, TTL_MS);
      const first = busy(await store.tryAcquire(name, newToken(), TTL_MS, a));
      const second = busy(await store.tryAcquire(name, newToken(), TTL_MS, b));
      await elapse(5);
      const third = busy(await store.tryAcquire(name, newToken(), TTL_MS, c));
      await store.release(name, holder, PROCESS);
      const nextTicket = store.capabilities.waiterTickets
        ? String(Number(second.ticket) + 1_000)
        : second.ticket;
      const place = { ...a, ticket: first.ticket, nextTicket };
      const granted = await store.tryAcquire(name, token, TTL_MS, place);
      fenceOf(granted);
      const moved = granted.status === 'granted' && granted.nextLookMs !== undefined;
      assert.equal(moved, store.capabilities.waiterTickets ?? false);
      await store.release(name, token, a.process);
      if (!moved) {
        assert.equal(third.newcomerTicket, undefined);
        for (const { process } of [b, c]) await store.leave(name, process);
        return;
      }
      assert.ok((third.newcomerTicket ?? 0) >= Number(third.ticket));
      for (const [index, one] of [b, a, c].entries()) {
        for (const later of [b, a, c].slice(index + 1)) {
          busy(await store.tryAcquire(name, newToken(), TTL_MS, later));
        }
        const next = newToken();
        fenceOf(await store.tryAcquire(name, next, TTL_MS, one));
        await store.release(name, next, one.process);
      }
    },
  },
  {
    promise: 'keeps a lock that expired for the head of the line',
    async verify(under) {
      const { store } = under;
      const [name, head] = [newName(), newPlace()];
      const dying = await mortalClient(under);
      fenceOf(await dying.store.tryAcquire(name, newToken(), shortTtlMs(under)));
      busy(await store.tryAcquire(name, newToken(), TTL_MS, head));
      await dying.end();
      if (!store.capabilities.fairWaiting) {
        fenceOf(await store.tryAcquire(name, newToken(), TTL_MS));
        return busyWithoutLine(store, name, head);
      }
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
      const woken = new Set<string>();
      const stops = [head, standby].map(({ process }, index) =>
        store.onWake(process, (what, role) => {
          if (what === name) woken.add(`${index} ${role}`);
        }),
      );
      // A subscription may need a moment to stand; messages before that are lost by right.
      for (let round = 0; round < WAKE_ROUNDS && woken.size < 2; round += 1) {
        woken.clear();
        const holder = newToken();
        fenceOf(await store.tryAcquire(name, holder, TTL_MS));
        busy(await store.tryAcquire(name, newToken(), TTL_MS, head));
        busy(await store.tryAcquire(name, newToken(), TTL_MS, standby));
        assert.equal(await store.release(name, holder, PROCESS), 'released');
        await elapse(WAKE_ROUND_MS);
        for (const { process } of [standby, head]) await store.leave(name, process);
      }
      for (const stop of stops) stop();
      const expected = store.capabilities.fairWaiting
        ? ['0 turn', '1 standby']
        : ['0 turn', '1 turn']; // without a line it is everybody's turn
      assert.deepEqual([...woken].sort(), expected);
    },
  },
];
