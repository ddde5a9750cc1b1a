import { Attempt } from './attempt.js';
import type { Clock } from './clock.js';
import type { HeldLease } from './lease.js';
import type { LeaseDesk } from './lease-desk.js';
import type { LockOptions } from './lock-options.js';
import type { AcquireReply, BusyReply, GrantReply, GrantStore } from './lock-store.js';
import { LockUnavailableError } from './lock.errors.js';
import { type Owner, tokensOf } from './owner-token.js';

/** How one try ended. `spent`: it has to be undone, its token must not be used again. */
export type TryOutcome =
  | { readonly kind: 'granted'; readonly lease: HeldLease; readonly reply: GrantReply }
  | { readonly kind: 'busy'; readonly reply: BusyReply }
  | {
      readonly kind: 'trouble';
      readonly error: LockUnavailableError;
      readonly spent: boolean;
    };

/** Makes attempts and turns their replies into leases. */
export class Tries {
  private readonly newToken: () => string;

  constructor(
    private readonly store: GrantStore,
    private readonly clock: Clock,
    private readonly owner: Owner,
    private readonly desk: LeaseDesk,
  ) {
    this.newToken = tokensOf(owner);
  }

  /** An attempt with a fresh token. */
  newAttempt(name: string, { ttlMs, commandTimeoutMs }: LockOptions): Attempt {
    const { process } = this.owner;
    const terms = { name, token: this.newToken(), ttlMs, commandTimeoutMs, process };
    return new Attempt(terms, this.store, this.clock);
  }

  /** One try, its outcome as a value. @throws only the signal's reason, the attempt undone */
  async try(
    attempt: Attempt,
    options: LockOptions,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: () => Promise<AcquireReply>,
  ): Promise<TryOutcome> {
    try {
      const { reply, sentAt } = await attempt.send(timeoutMs, signal, send);
      if (reply.status === 'busy') return { kind: 'busy', reply };
      const admitted = this.desk.admit(attempt, reply, sentAt, options);
      if ('lease' in admitted) return { kind: 'granted', lease: admitted.lease, reply };
      const error = new LockUnavailableError(attempt.terms.name, admitted.refused);
      return { kind: 'trouble', error, spent: true };
    } catch (error) {
      if (error instanceof LockUnavailableError) return { kind: 'trouble', error, spent: false };
      this.desk.undo(attempt);
      throw error;
    }
  }
}
