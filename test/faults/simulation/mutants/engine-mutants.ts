import { Attempt } from '../../../../src/lock/core/attempt.js';
import type { Clock } from '../../../../src/lock/core/clock.js';
import { HeldLease } from '../../../../src/lock/core/lease.js';
import { LeaseDesk } from '../../../../src/lock/core/lease-desk.js';
import { Watchdog } from '../../../../src/lock/core/watchdog.js';

/** Puts a mistake into the engine; returns what takes it out again. */
export type Break = () => () => void;

/** Engines with one mistake each. */
export const engineMutants: Readonly<Record<string, Break>> = {
  'a lease counted from the reply': () =>
    replace(
      Attempt.prototype,
      'send',
      (send) =>
        async function (this: Attempt, ...given) {
          const answer = await send.apply(this, given);
          return { ...answer, sentAt: clockOf(this).now() };
        },
    ),

  'a renewal counted from the reply': () =>
    replace(
      HeldLease.prototype,
      'renewed',
      (renewed) =>
        function (this: HeldLease, _sentAt, ttlMs) {
          renewed.call(this, clockOf(this).now(), ttlMs);
        },
    ),

  'a lease without a deadline': () =>
    replace(HeldLease.prototype, 'checkDeadline', () => () => false),

  'a loss that is not told': () => replace(HeldLease.prototype, 'lose', () => () => undefined),

  'a renewal without an answer that counts as done': () => {
    interface Renewing {
      renew(batch: readonly HeldLease[], timeoutMs: number): Promise<readonly string[]>;
    }
    return replace(
      Watchdog.prototype as unknown as Renewing,
      'renew',
      (renew) =>
        async function (this: Renewing, batch, timeoutMs) {
          const sentAt = clockOf(this).now();
          const outcomes = await renew.call(this, batch, timeoutMs);
          for (const [index, lease] of batch.entries()) {
            if (outcomes[index] === 'unknown') lease.renewed(sentAt, lease.ttlMs);
          }
          return outcomes;
        },
    );
  },

  'an undo that is skipped': () => replace(LeaseDesk.prototype, 'undo', () => () => undefined),

  'an undo that is tried once': () =>
    replace(
      Attempt.prototype,
      'undoOnce',
      (undoOnce) =>
        async function (this: Attempt) {
          await undoOnce.call(this);
          return true;
        },
    ),
};

function replace<T, K extends keyof T>(prototype: T, key: K, by: (original: T[K]) => T[K]) {
  const original = prototype[key];
  prototype[key] = by(original);
  return () => {
    prototype[key] = original;
  };
}

/** All of these classes keep their clock under this name. */
function clockOf(owner: object): Pick<Clock, 'now'> {
  return (owner as { clock: Pick<Clock, 'now'> }).clock;
}
