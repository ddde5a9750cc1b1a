import type { Clock } from './clock.js';
import type { FenceRule } from './fence-rule.js';
import type { LockStore, StoredLock } from './lock-store.js';
import { type Owner, parseToken } from './owner-token.js';
import { verdictWithin } from './with-deadline.js';

/** A lock as seen from outside; never its token. Durations in ms. */
export interface LockState {
  readonly name: string;
  /** null for a foreign client's value. */
  readonly holder: Owner | null;
  /** undefined where the key never expires. */
  readonly remainingMs: number | undefined;
  /** undefined where not known. */
  readonly heldForMs: number | undefined;
  /** The last fence granted under this name; undefined where none is kept. */
  readonly fence: bigint | undefined;
  /** Processes that stand in line for it. */
  readonly queued: number;
  /** Revoked: the holder has not let go yet, and its life goes on to the end at most. */
  readonly revoked: boolean;
}

/**
 * `revoked`: the holder is told, and nobody else is granted the lock before it lets go or its TTL
 * has passed. `deleted` (with `force`): the lock of a foreign client, or one that was revoked before, was
 * deleted, whatever its holder is doing.
 * `foreign`: it was left alone. `not-held`: nobody holds it.
 */
export type RevokeOutcome = 'revoked' | 'deleted' | 'foreign' | 'not-held';

/** A check asks several things, one after the other. */
const CHECK_TIMEOUT_MS = 10_000;

/** What people who look after locks do, on one store. @throws LockUnavailableError, everywhere */
export class LockAdmin {
  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly process: string,
    private readonly fences: FenceRule,
    private readonly timeoutMs: number,
  ) {}

  async check(): Promise<readonly string[]> {
    if (!this.store.check) return [];
    return verdictWithin(this.store.check(), this.clock, CHECK_TIMEOUT_MS, undefined);
  }

  async inspect(name: string): Promise<LockState | null> {
    const stored = await this.bounded(name, this.store.inspect(name));
    return stored && this.state(name, stored);
  }

  async *list(): AsyncGenerator<LockState, void, undefined> {
    const pages = this.store.list()[Symbol.asyncIterator]();
    for (;;) {
      const page = await this.bounded(undefined, pages.next());
      if (page.done) return;
      for (const { name, ...stored } of page.value) yield this.state(name, stored);
    }
  }

  async revoke(name: string, force: boolean): Promise<RevokeOutcome> {
    for (;;) {
      const stored = await this.bounded(name, this.store.inspect(name));
      if (!stored) return 'not-held';
      if (stored.revoked && !force) return 'revoked';
      const { token } = stored;
      const owner = parseToken(token);
      if (owner && !stored.revoked) {
        if (await this.bounded(name, this.store.revoke(name, token, owner.process)))
          return 'revoked';
      } else if (!force) {
        return 'foreign';
      } else {
        const reply = await this.bounded(name, this.store.release(name, token, this.process));
        if (reply === 'released') return 'deleted';
      }
      // It changed hands in between: look again.
    }
  }

  private state(name: string, { token, fence: minted, ...state }: StoredLock): LockState {
    const fence = minted === undefined ? undefined : this.fences.of(minted);
    return { name, holder: parseToken(token), fence, ...state };
  }

  private bounded<T>(name: string | undefined, operation: Promise<T>): Promise<T> {
    return verdictWithin(operation, this.clock, this.timeoutMs, name);
  }
}
