import type { Acquirer } from './acquirer.js';
import { type Clock, plusMs, remainingMs } from './clock.js';
import type { HeldLease } from './lease.js';
import type { LeaseDesk } from './lease-desk.js';
import { LeaseSet } from './lease-set.js';
import type { LockOptions } from './lock-options.js';
import type { AcquireAllReply, AcquireReply, LockStore, TokenOf } from './lock-store.js';
import { type LockBusyError, LockError, LockUnavailableError } from './lock.errors.js';
import type { Tries, TryOutcome } from './tries.js';

/** All of them, or why none; `apart`: one after the other has to do. */
type Together = readonly HeldLease[] | LockBusyError | LockUnavailableError | 'apart';

/** Takes several locks, all or none. */
export class SetAcquirer {
  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly desk: LeaseDesk,
    private readonly tries: Tries,
    private readonly one: Acquirer,
  ) {}

  /**
   * `names` must be sorted and distinct: sets that overlap then wait in one order, so they never
   * deadlock. One try takes all in one step where the store can; waiting takes one after the other.
   * @throws as for one lock, with none of them held
   */
  take(names: readonly string[], options: LockOptions, signal?: AbortSignal): Promise<LeaseSet> {
    return options.waitMs === 0 && this.store.tryAcquireAll
      ? this.takeTogether(names, options, signal)
      : this.takeInOrder(names, options, signal);
  }

  private async takeInOrder(
    names: readonly string[],
    options: LockOptions,
    signal: AbortSignal | undefined,
  ): Promise<LeaseSet> {
    const deadline = plusMs(this.clock.now(), options.waitMs);
    const taken: HeldLease[] = [];
    try {
      for (const name of names) {
        const left = Math.ceil(Math.max(0, remainingMs(deadline, this.clock.now())));
        taken.push(await this.one.take(name, { ...options, waitMs: left }, signal));
      }
      const set = new LeaseSet(taken);
      set.assertHeld(); // the first may have ended while the last was waited for
      return set;
    } catch (error) {
      await Promise.all(taken.map((lease) => lease.release()));
      throw error;
    }
  }

  private async takeTogether(
    names: readonly string[],
    options: LockOptions,
    signal: AbortSignal | undefined,
  ): Promise<LeaseSet> {
    const startedAt = this.one.begin(names.join(' + '), signal);
    let taken: Together;
    try {
      taken = await this.tryTogether(names, options, signal);
    } catch (error) {
      if (!(error instanceof LockUnavailableError)) throw error;
      taken = error;
    } finally {
      this.desk.askEnds();
    }
    if (taken === 'apart') return this.takeInOrder(names, options, signal);
    if (taken instanceof LockError) {
      this.one.tell(taken.lockName ?? names.join(' + '), taken, startedAt);
      throw taken;
    }
    for (const lease of taken) this.one.tell(lease.name, lease, startedAt);
    return new LeaseSet(taken);
  }

  private async tryTogether(
    names: readonly string[],
    options: LockOptions,
    signal: AbortSignal | undefined,
  ): Promise<Together> {
    for (const name of names) {
      const objection = this.one.objection(name);
      if (objection) return objection;
    }
    return this.tries.whenRoom(names.join(' + '), options.commandTimeoutMs, signal, (leftMs) =>
      this.sendAll(names, options, leftMs, signal),
    );
  }

  private async sendAll(
    names: readonly string[],
    options: LockOptions,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Together> {
    const attempts = names.map((name) => this.tries.newAttempt(name, options));
    const together = this.sendTogether(
      attempts.map(({ terms }) => terms),
      options.ttlMs,
    );
    let areApart = false;
    const outcomes = await Promise.allSettled(
      attempts.map((attempt, index) =>
        this.tries.tryNow(attempt, options, timeoutMs, signal, async () => {
          const reply = await together;
          if (reply.status !== 'apart') return partOf(reply, index);
          areApart = true;
          throw nothingDone(attempt.terms.name);
        }),
      ),
    );
    if (areApart && !signal?.aborted) return 'apart';
    const values = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const leases = values.flatMap((one) => (one.kind === 'granted' ? [one.lease] : []));
    if (leases.length === names.length) return leases;
    for (const attempt of attempts) this.desk.undo(attempt);
    await Promise.all(leases.map((lease) => lease.release()));
    for (const one of outcomes) if (one.status === 'rejected') throw one.reason;
    const trouble = values.find(isTrouble);
    if (trouble) return trouble.error;
    const reply = await together;
    if (reply.status !== 'busy') throw new Error(`${reply.status}, and yet not all are held`);
    return this.one.answers.busyError(reply.name, reply);
  }

  private sendTogether(locks: readonly TokenOf[], ttlMs: number): Promise<AcquireAllReply> {
    const sent = this.store.tryAcquireAll?.(locks, ttlMs);
    return sent ?? Promise.reject(new Error('this store takes one lock at a time'));
  }
}

function nothingDone(name: string): LockUnavailableError {
  return new LockUnavailableError(name, 'the locks are on different servers', {
    mayHaveRun: false,
  });
}

function partOf(reply: Exclude<AcquireAllReply, { status: 'apart' }>, index: number): AcquireReply {
  if (reply.status === 'busy') return { ...reply, ticket: undefined };
  const { storeTimeMs, fences } = reply;
  return { status: 'granted', fence: fences[index] as bigint, storeTimeMs };
}

function isTrouble(outcome: TryOutcome): outcome is Extract<TryOutcome, { kind: 'trouble' }> {
  return outcome.kind === 'trouble';
}
