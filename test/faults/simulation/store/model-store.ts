import type {
  AcquireAllReply,
  AcquireReply,
  BusyReply,
  LockStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  StoredLock,
  TokenOf,
  WakeListener,
  WakeRole,
} from '../../../../src/lock/core/lock-store.js';
import { ModelLine } from './model-line.js';

/** A key of the model: who holds it, until when on the server's wall clock. */
export interface ModelLock {
  token: string;
  since: number;
  expiresAt: number;
  revoked: boolean;
}

/**
 * What a server keeps for locks, as plainly as it can be written: the reference that the engine is
 * simulated against. Made from the contract, not from any store; keys expire by the server's wall
 * clock, as Redis's do. Every operation is one synchronous step.
 */
export class ModelStore implements LockStore {
  readonly kind = 'model';
  readonly capabilities = {
    fairWaiting: true,
    waiterTickets: true,
    confirmedGrants: false,
    fencesSurviveLoss: true,
    serverTime: true,
    ttlStepMs: 1,
  };
  protected locks = new Map<string, ModelLock>();
  protected fences = new Map<string, number>();
  protected lines = new Map<string, ModelLine>();
  private readonly listeners = new Map<string, WakeListener>();

  constructor(protected readonly now: () => number) {}

  /** Everything as it is now, for a replica that will be promoted later. */
  copyTo(other: ModelStore): void {
    other.locks = new Map([...this.locks].map(([name, lock]) => [name, { ...lock }]));
    other.fences = new Map(this.fences);
    other.lines = new Map([...this.lines].map(([name, line]) => [name, line.copy()]));
  }

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    return this.inTheWay(name, token, place) ?? this.grant(name, token, ttlMs, place);
  }

  async tryAcquireAll(wanted: readonly TokenOf[], ttlMs: number): Promise<AcquireAllReply> {
    for (const { name, token } of wanted) {
      const busy = this.inTheWay(name, token, undefined);
      if (busy) return { ...busy, name };
    }
    const grants = wanted.map(({ name, token }) => this.grant(name, token, ttlMs, undefined));
    return {
      status: 'granted',
      fences: grants.map(({ fence }) => fence),
      storeTimeMs: Math.floor(this.now()),
    };
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    return renewals.map((renewal) => this.renewOne(renewal));
  }

  async release(name: string, token: string, _process: string): Promise<ReleaseReply> {
    if (this.alive(name)?.token !== token) return 'not-held';
    this.locks.delete(name);
    this.passOn(name);
    return 'released';
  }

  async leave(name: string, process: string): Promise<void> {
    this.lines.get(name)?.leave(process);
    if (!this.alive(name)) this.passOn(name);
  }

  async inspect(name: string): Promise<StoredLock | null> {
    const lock = this.alive(name);
    if (!lock) return null;
    const { token, since, expiresAt, revoked } = lock;
    const fence = this.fences.get(name);
    return {
      token,
      remainingMs: expiresAt - this.now(),
      fence: fence === undefined ? undefined : BigInt(fence),
      heldForMs: this.now() - since,
      queued: this.lines.get(name)?.lengthAt(this.now()) ?? 0,
      revoked,
    };
  }

  async *list(): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
    for (const name of [...this.locks.keys()]) {
      const stored = await this.inspect(name);
      if (stored) yield [{ name, ...stored }];
    }
  }

  async revoke(name: string, token: string, process: string): Promise<boolean> {
    const lock = this.alive(name);
    if (lock?.token !== token || lock.revoked) return false;
    lock.revoked = true;
    this.tell(process, name, 'revoked', token);
    return true;
  }

  onWake(process: string, listener: WakeListener): () => void {
    this.listeners.set(process, listener);
    return () => this.listeners.delete(process);
  }

  onReconnect = () => () => undefined;
  start = async () => undefined;
  close = async () => undefined;

  protected alive(name: string): ModelLock | undefined {
    const lock = this.locks.get(name);
    if (lock && lock.expiresAt > this.now()) return lock;
    this.locks.delete(name);
    return undefined;
  }

  protected renewOne({ name, token, ttlMs }: Renewal): RenewOutcome {
    const lock = this.alive(name);
    if (lock?.token !== token) return 'not-owner';
    if (lock.revoked) return 'revoked';
    lock.expiresAt = Math.max(lock.expiresAt, this.now() + ttlMs);
    return 'renewed';
  }

  protected mint(name: string): number {
    const fence = Math.max((this.fences.get(name) ?? 0) + 1, Math.floor(this.now() * 1000));
    this.fences.set(name, fence);
    return fence;
  }

  /** The lock is free: it is kept for the first in line, who is told. */
  protected passOn(name: string): void {
    const line = this.lines.get(name);
    const head = line?.head(undefined, this.now());
    if (line && head !== undefined && line.reserve(head, this.now()).isNew) {
      this.wake(name, line, head);
    }
  }

  protected inTheWay(name: string, token: string, place: Place | undefined): BusyReply | undefined {
    const lock = this.alive(name);
    const now = this.now();
    if (lock?.token === token && !lock.revoked) return undefined;
    if (lock) return this.busy(name, lock.expiresAt - now, now - lock.since, place);
    const line = this.lines.get(name);
    const head = line?.head(place?.process, now);
    if (!line || head === undefined || head === place?.process) return undefined;
    const { leftMs, isNew } = line.reserve(head, now);
    if (isNew) this.wake(name, line, head);
    return this.busy(name, leftMs, undefined, place);
  }

  private grant(name: string, token: string, ttlMs: number, place: Place | undefined) {
    const now = this.now();
    const mine = this.alive(name);
    const fence = mine ? (this.fences.get(name) ?? this.mint(name)) : this.mint(name);
    const nextLookMs = place && this.lineOf(name).moveOn(place, now);
    const since = mine?.since ?? now;
    const expiresAt = Math.max(now + ttlMs, mine?.expiresAt ?? 0);
    this.locks.set(name, { token, since, expiresAt, revoked: false });
    return {
      status: 'granted',
      fence: BigInt(fence),
      storeTimeMs: Math.floor(now),
      nextLookMs,
    } as const;
  }

  private busy(
    name: string,
    remainingMs: number,
    heldForMs: number | undefined,
    place: Place | undefined,
  ): BusyReply {
    const standing = place && this.lineOf(name).stand(place, this.now());
    const queued = this.lines.get(name)?.lengthAt(this.now()) ?? 0;
    return { status: 'busy', remainingMs, heldForMs, queued, ticket: undefined, ...standing };
  }

  private lineOf(name: string): ModelLine {
    const line = this.lines.get(name) ?? new ModelLine();
    this.lines.set(name, line);
    return line;
  }

  private wake(name: string, line: ModelLine, head: string): void {
    this.tell(head, name, 'turn');
    const standby = line.standby();
    if (standby !== undefined) this.tell(standby, name, 'standby');
  }

  private tell(process: string, name: string, role: WakeRole, token?: string): void {
    this.listeners.get(process)?.(name, role, token);
  }
}
