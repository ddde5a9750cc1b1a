import { type Clock, type Instant, plusMs } from './clock.js';
import { LockError, LockUnavailableError } from './lock.errors.js';
import type { AcquireReply, GrantStore, Place, ReleaseReply } from './lock-store.js';
import { withDeadline } from './with-deadline.js';

/** What an attempt works with. */
export interface AttemptTerms {
  readonly name: string;
  readonly token: string;
  readonly ttlMs: number;
  readonly commandTimeoutMs: number;
  /** The process that asks. */
  readonly process: string;
}

/**
 * One token's way to one lock: it may be sent several times (the store is idempotent on the token),
 * and it remembers which of its commands have an unknown outcome, since any of them may still reach
 * the store and take the lock.
 */
export class Attempt {
  private unknownSends = 0;
  /** Granted, and no lease has taken it over: `undo` has to delete it. */
  private holds = false;
  private lastSentAt: Instant | undefined;
  private lastSend: Promise<unknown> | undefined;
  /** Is told when the store has done with a try, perhaps long after that was given up. */
  onAnswered: (() => void) | undefined;

  constructor(
    readonly terms: AttemptTerms,
    private readonly store: GrantStore,
    private readonly clock: Clock,
  ) {}

  /** A command may be on its way whose outcome nobody has learnt, or was granted when nobody listened any more. */
  get mayLeaveSomething(): boolean {
    return this.unknownSends > 0 || this.holds;
  }

  /** Granted, and no lease has come of it: a later `busy` means that it was revoked or ran out since. */
  get wasGrantedUnheard(): boolean {
    return this.holds;
  }

  /** Resolves when the store has done with the last try; undefined where it has already. */
  get underWay(): Promise<unknown> | undefined {
    return this.lastSend?.catch(() => undefined);
  }

  /**
   * One try; `send` is what sends this attempt's token. @throws LockUnavailableError when there is no verdict
   * in time, LockOptionsError where the store refuses the caller's options, or the signal's reason
   */
  async send(
    timeoutMs: number,
    signal?: AbortSignal,
    send: () => Promise<AcquireReply> = () => this.tryAcquire(),
  ): Promise<{ reply: AcquireReply; sentAt: Instant }> {
    const sentAt = this.clock.now();
    this.lastSentAt = sentAt;
    this.unknownSends += 1;
    const heard = send().then(
      (reply) => {
        this.lastSend = undefined;
        this.unknownSends -= 1;
        // Whoever asked may have given up a moment ago.
        if (reply.status === 'granted') this.holds = true;
        this.onAnswered?.();
        return reply;
      },
      (error: unknown) => {
        this.lastSend = undefined;
        if (hasNotRun(error)) this.unknownSends -= 1;
        this.onAnswered?.();
        throw error;
      },
    );
    this.lastSend = heard;
    try {
      return { reply: await withDeadline(heard, this.clock, timeoutMs, { signal }), sentAt };
    } catch (error) {
      if (signal?.aborted || error instanceof LockError) throw error;
      throw new LockUnavailableError(this.terms.name, (error as Error).message, { cause: error });
    }
  }

  /** Sends the command of its own. */
  tryAcquire(place?: Place): Promise<AcquireReply> {
    const { name, token, ttlMs } = this.terms;
    return this.store.tryAcquire(name, token, ttlMs, place);
  }

  /** A lease answers for the grant from now on. */
  handOver(): void {
    this.holds = false;
  }

  /** The lease has not learnt whether its key is deleted: `undo` has to do it. */
  takeBack(): void {
    this.holds = true;
  }

  /** When nothing that was sent can have an effect any more: undefined where nothing was. */
  get endOfLastSend(): Instant | undefined {
    return this.lastSentAt && plusMs(this.lastSentAt, this.terms.ttlMs);
  }

  /**
   * Deletes what this attempt has left. True when nothing is left or may arrive yet; else it has to be
   * repeated. One command, within its time; none where every outcome is known. Never rejects.
   */
  async undoOnce(): Promise<boolean> {
    if (!this.mayLeaveSomething) return true;
    const nothingUnderWay = this.unknownSends === 0;
    const atMostOne = this.unknownSends + (this.holds ? 1 : 0) <= 1;
    const reply = await this.release();
    const isClean = (nothingUnderWay && reply !== 'unknown') || (atMostOne && reply === 'released');
    if (isClean) this.holds = false;
    return isClean;
  }

  private async release(): Promise<ReleaseReply | 'unknown'> {
    const { name, token, commandTimeoutMs, process } = this.terms;
    const released = this.store.release(name, token, process);
    try {
      return await withDeadline(released, this.clock, commandTimeoutMs, { background: true });
    } catch {
      return 'unknown'; // no verdict is an expected outcome here: the caller repeats it
    }
  }
}

/** Trouble that certainly had no effect, or a refusal of what the caller wants. */
function hasNotRun(error: unknown): boolean {
  return error instanceof LockUnavailableError ? !error.mayHaveRun : error instanceof LockError;
}
