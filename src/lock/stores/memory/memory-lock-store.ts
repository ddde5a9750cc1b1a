import {
  type Clock,
  elapsedMs,
  type Instant,
  plusMs,
  remainingMs,
  SystemClock,
} from '../../core/clock.js';
import type {
  AcquireAllReply,
  AcquireReply,
  BusyReply,
  GrantReply,
  LockStore,
  PermitStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoredLock,
  TokenOf,
  WakeListener,
} from '../../core/lock-store.js';
import { GradualSweep } from './gradual-sweep.js';
import { MemoryFences } from './memory-fences.js';
import { MemoryLine } from './memory-line.js';
import { countedRoom, MemoryPermits, MemoryPermitStore } from './memory-permit-store.js';

interface Entry {
  readonly token: string;
  readonly fence: bigint;
  readonly since: Instant;
  expiresAt: Instant;
  revoked: boolean;
}

/**
 * Locks within one process: the default where nothing is configured, and the model of the contract
 * for tests. Excludes nobody in other processes. Every operation is synchronous inside, so atomic;
 * one map entry per lock, and one per name for its fence, kept for a day.
 */
export class MemoryLockStore implements LockStore {
  readonly kind = 'memory';
  readonly capabilities = {
    fairWaiting: true,
    waiterTickets: true,
    confirmedGrants: false,
    fencesSurviveLoss: true,
    serverTime: true,
    ttlStepMs: 1,
  };
  private readonly locks = new Map<string, Entry>();
  private readonly sweep = new GradualSweep<string, Entry, Instant>(
    this.locks,
    (name, _entry, now) => this.live(name, now),
  );
  private readonly fences = new MemoryFences((now) => this.sweep.step(now));
  private readonly permits = new MemoryPermits();
  private readonly lines = new Map<string, MemoryLine>();
  private readonly listeners = new Map<string, WakeListener>();

  constructor(private readonly clock: Clock = new SystemClock()) {}

  async start(): Promise<void> {}

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    const now = this.clock.now();
    return this.inTheWay(name, token, now, place) ?? this.take(name, token, ttlMs, now, place);
  }

  async tryAcquireAll(locks: readonly TokenOf[], ttlMs: number): Promise<AcquireAllReply> {
    const now = this.clock.now();
    for (const { name, token } of locks) {
      const busy = this.inTheWay(name, token, now);
      if (busy) return { ...busy, name };
    }
    const fences = locks.map(({ name, token }) => this.take(name, token, ttlMs, now).fence);
    return { status: 'granted', fences, storeTimeMs: now.wallMs };
  }

  semaphores(permits: number): PermitStore {
    return new MemoryPermitStore(this.clock, countedRoom(permits), this.permits);
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const now = this.clock.now();
    return renewals.map(({ name, token, ttlMs }) => {
      const held = this.live(name, now);
      if (held?.token !== token) return 'not-owner';
      if (held.revoked) return 'revoked';
      held.expiresAt = this.longerLife(held, ttlMs, now);
      return 'renewed';
    });
  }

  async release(name: string, token: string): Promise<ReleaseReply> {
    if (this.live(name, this.clock.now())?.token !== token) return 'not-held';
    this.locks.delete(name);
    this.giveTurn(name);
    return 'released';
  }

  async leave(name: string, process: string): Promise<void> {
    this.giveUp(name, process);
    if (!this.live(name, this.clock.now())) this.giveTurn(name);
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const now = this.clock.now();
    const held = this.live(name, now);
    return held ? this.stored(name, held, now) : null;
  }

  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    const now = this.clock.now();
    yield [...this.locks]
      .filter(([name]) => this.live(name, now))
      .map(([name, entry]) => ({ name, ...this.stored(name, entry, now) }));
  }

  async revoke(name: string, token: string, process: string): Promise<boolean> {
    const held = this.live(name, this.clock.now());
    if (held?.token !== token || held.revoked) return false;
    held.revoked = true;
    queueMicrotask(() => this.listeners.get(process)?.(name, 'revoked', token));
    return true;
  }

  onWake(process: string, listener: WakeListener): () => void {
    this.listeners.set(process, listener);
    return () => this.listeners.delete(process);
  }

  /** Never called: there is no connection that could be lost. */
  onReconnect(): () => void {
    return () => undefined;
  }

  async close(): Promise<void> {
    this.listeners.clear();
  }

  /** Who has the lock, or the right to it, before the asking one; undefined when nobody has. */
  private inTheWay(
    name: string,
    token: string,
    now: Instant,
    place?: Place,
  ): BusyReply | undefined {
    const held = this.live(name, now);
    if (held) {
      if (held.token === token && !held.revoked) return undefined;
      return this.busy(name, remainingMs(held.expiresAt, now), elapsedMs(held.since, now), place);
    }
    const line = this.lines.get(name);
    const head = line?.first(place?.process, now.monoMs);
    if (line?.length === 0) this.lines.delete(name);
    if (!line || head === undefined || head === place?.process) return undefined;
    const { endsMs, isNew } = line.reserve(head, now.monoMs);
    const reply = this.busy(name, endsMs - now.monoMs, undefined, place);
    if (!isNew) return reply;
    this.wake(name);
    return { ...reply, lookMs: undefined }; // who reserved it sees to it that it is taken
  }

  private take(
    name: string,
    token: string,
    ttlMs: number,
    now: Instant,
    place?: Place,
  ): GrantReply {
    const nextLookMs = place && this.moveOn(name, place, now);
    const held = this.live(name, now);
    const fence = held?.fence ?? this.fences.mint(name, now);
    const expiresAt = held ? this.longerLife(held, ttlMs, now) : plusMs(now, ttlMs);
    this.locks.set(name, { token, fence, since: held?.since ?? now, expiresAt, revoked: false });
    return { status: 'granted', fence, storeTimeMs: now.wallMs, nextLookMs };
  }

  /** A command that comes late must not shorten a life. Seen from now, since a wall clock may have been stepped. */
  private longerLife({ expiresAt }: Entry, ttlMs: number, now: Instant): Instant {
    return remainingMs(expiresAt, now) < ttlMs ? plusMs(now, ttlMs) : expiresAt;
  }

  private busy(
    name: string,
    remaining: number,
    heldForMs: number | undefined,
    place: Place | undefined,
  ): BusyReply {
    const standing = place && this.lineOf(name).stand(place, this.clock.now().monoMs);
    const queued = this.lines.get(name)?.length ?? 0;
    return {
      status: 'busy',
      remainingMs: remaining,
      heldForMs,
      queued,
      ticket: undefined,
      ...standing,
    };
  }

  private stored(name: string, entry: Entry, now: Instant): StoredLock {
    const { token, fence, expiresAt, since, revoked } = entry;
    return {
      token,
      fence,
      remainingMs: remainingMs(expiresAt, now),
      heldForMs: elapsedMs(since, now),
      queued: this.lines.get(name)?.length ?? 0,
      revoked,
    };
  }

  private lineOf(name: string): MemoryLine {
    const line = this.lines.get(name) ?? new MemoryLine();
    this.lines.set(name, line);
    return line;
  }

  /** The process has the lock: its place is its next waiter's, or gone. */
  private moveOn(name: string, place: Place, { monoMs }: Instant): number | undefined {
    const line = this.lines.get(name);
    if (!line && place.nextTicket === undefined) return undefined;
    const nextLookMs = this.lineOf(name).moveOn(place, monoMs);
    if (this.lines.get(name)?.length === 0) this.lines.delete(name);
    return nextLookMs;
  }

  private giveUp(name: string, process: string): void {
    const line = this.lines.get(name);
    line?.leave(process);
    if (line?.length === 0) this.lines.delete(name);
  }

  /** The lock is free: its turn goes to the first in line. */
  private giveTurn(name: string): void {
    const { monoMs } = this.clock.now();
    const line = this.lines.get(name);
    const head = line?.first(undefined, monoMs);
    if (head === undefined) this.lines.delete(name);
    else if (line?.reserve(head, monoMs).isNew) this.wake(name);
  }

  private wake(name: string): void {
    const [head, standby] = this.lines.get(name)?.toWake() ?? [];
    // Not before the caller's own step is complete, as a message would not be.
    queueMicrotask(() => {
      if (head !== undefined) this.listeners.get(head)?.(name, 'turn');
      if (standby !== undefined) this.listeners.get(standby)?.(name, 'standby');
    });
  }

  private live(name: string, now: Instant): Entry | undefined {
    const entry = this.locks.get(name);
    if (entry && remainingMs(entry.expiresAt, now) > 0) return entry;
    this.locks.delete(name);
    return undefined;
  }
}
