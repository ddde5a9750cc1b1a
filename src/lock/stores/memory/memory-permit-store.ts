import { type Clock, elapsedMs, type Instant, plusMs, remainingMs } from '../../core/clock.js';
import type {
  AcquireReply,
  BusyReply,
  GrantReply,
  PermitHolder,
  PermitStore,
  Place,
  ReleaseReply,
  Renewal,
  RenewOutcome,
  WakeListener,
} from '../../core/lock-store.js';
import { GradualSweep } from './gradual-sweep.js';
import { MemoryFences } from './memory-fences.js';
import { MemoryLine } from './memory-line.js';

/** What a rule says: this permit is next, or none is. */
export type RoomChoice =
  | {
      readonly permit: string;
      /** How many are free, this one included. */
      readonly free: number;
    }
  | {
      readonly permit: undefined;
      /** When a permit becomes free by itself, in ms; undefined: when somebody lets go. */
      readonly returnsMs?: number | undefined;
      /** As in BusyReply. */
      readonly closedMs?: number | undefined;
    };

/** The rule that says which permit is next: a plain count, or the members of a pool. */
export interface MemoryRoom {
  /** `held`: the permits that are held now. Changes nothing. */
  choose(name: string, held: readonly string[], now: Instant): RoomChoice;
  /** The chosen permit has been granted. */
  granted(name: string, permit: string, now: Instant): void;
}

/** Up to `permits` holders, whoever they are. */
export function countedRoom(permits: number): MemoryRoom {
  return {
    choose: (_name, held) => {
      const free = permits - held.length;
      return free > 0 ? { permit: '', free } : { permit: undefined };
    },
    granted: () => undefined,
  };
}

interface Holder {
  readonly permit: string;
  readonly fence: bigint;
  readonly since: Instant;
  expiresAt: Instant;
}

/** Who holds permits of which name, who waits for them, and how far their fences are: shared by the views of one store. */
export class MemoryPermits {
  readonly holders = new Map<string, Map<string, Holder>>();
  readonly lines = new Map<string, MemoryLine>();
  private readonly sweep = new GradualSweep<string, Map<string, Holder>, Instant>(
    this.holders,
    (name, _held, now) => this.live(name, now),
  );
  readonly fences = new MemoryFences((now) => this.sweep.step(now));
  readonly listeners = new Map<string, WakeListener>();

  /** Those whose time has not passed; a name's entry is gone when there are none. */
  live(name: string, now: Instant): Map<string, Holder> {
    const held = this.holders.get(name) ?? new Map<string, Holder>();
    for (const [token, { expiresAt }] of held) {
      if (remainingMs(expiresAt, now) <= 0) held.delete(token);
    }
    if (held.size === 0) this.holders.delete(name);
    return held;
  }
}

/** Permits within one process; the model of RedisPermitStore. Every operation is one atomic step. */
export class MemoryPermitStore implements PermitStore {
  readonly kind = 'memory';

  constructor(
    private readonly clock: Clock,
    private readonly room: MemoryRoom,
    private readonly state = new MemoryPermits(),
  ) {}

  async tryAcquire(
    name: string,
    token: string,
    ttlMs: number,
    place?: Place,
  ): Promise<AcquireReply> {
    const now = this.clock.now();
    const live = this.state.live(name, now);
    const mine = live.get(token);
    if (mine) {
      lengthen(mine, ttlMs, now);
      const another = this.room.choose(name, permitsOf(live), now);
      const free = another.permit === undefined ? 0 : another.free;
      return this.granted(name, mine, free, now, place);
    }
    const choice = this.room.choose(name, permitsOf(live), now);
    if (choice.permit === undefined) {
      this.state.lines.get(name)?.forgetTurn();
      return this.busy(name, live, choice, now, place);
    }
    const line = this.state.lines.get(name);
    const head = line?.first(place?.process, now.monoMs);
    // Each process that waits has one of those that are free.
    if (line && head !== undefined && line.ahead(place) >= choice.free) {
      const { endsMs, isNew } = line.reserve(head, now.monoMs);
      const until = { permit: undefined, returnsMs: endsMs - now.monoMs };
      const reply = this.busy(name, live, until, now, place);
      if (!isNew) return reply;
      this.wake(name);
      return { ...reply, lookMs: undefined }; // who reserved it sees to it that it is taken
    }
    const holder = {
      permit: choice.permit,
      fence: this.state.fences.mint(name, now),
      since: now,
      expiresAt: plusMs(now, ttlMs),
    };
    live.set(token, holder);
    this.state.holders.set(name, live);
    this.room.granted(name, choice.permit, now);
    const reply = this.granted(name, holder, choice.free - 1, now, place);
    this.passOn(name, now, place?.process);
    return reply;
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const now = this.clock.now();
    return renewals.map(({ name, token, ttlMs }) => {
      const mine = this.state.live(name, now).get(token);
      if (!mine) return 'not-owner';
      lengthen(mine, ttlMs, now);
      return 'renewed';
    });
  }

  async release(name: string, token: string): Promise<ReleaseReply> {
    const now = this.clock.now();
    const held = this.state.live(name, now);
    if (!held.delete(token)) return 'not-held';
    if (held.size === 0) this.state.holders.delete(name);
    this.passOn(name, now);
    return 'released';
  }

  async leave(name: string, process: string): Promise<void> {
    this.state.lines.get(name)?.leave(process);
    this.passOn(name, this.clock.now());
  }

  async holders(name: string): Promise<readonly PermitHolder[]> {
    const now = this.clock.now();
    return [...this.state.live(name, now)]
      .map(([token, { fence, permit, expiresAt }]) => ({
        token,
        fence,
        remainingMs: remainingMs(expiresAt, now),
        permit: permit === '' ? undefined : permit,
      }))
      .sort((a, b) => a.remainingMs - b.remainingMs);
  }

  onWake(process: string, listener: WakeListener): () => void {
    this.state.listeners.set(process, listener);
    return () => this.state.listeners.delete(process);
  }

  /** Never called: there is no connection that could be lost. */
  onReconnect(): () => void {
    return () => undefined;
  }

  /** The process's place is its next waiter's from now on; `free` permits are left. */
  private granted(
    name: string,
    { fence, permit }: Holder,
    free: number,
    now: Instant,
    place: Place | undefined,
  ): GrantReply {
    const line = this.state.lines.get(name);
    const standing = place?.nextTicket === undefined ? line : this.lineOf(name);
    const nextLookMs = place && standing?.moveOn(place, now.monoMs);
    const next = place && { ...place, ticket: place.nextTicket };
    return {
      status: 'granted',
      fence,
      permit: permit === '' ? undefined : permit,
      storeTimeMs: now.wallMs,
      nextLookMs,
      left: Math.max(0, free - (standing?.ahead(next) ?? 0)),
    };
  }

  private lineOf(name: string): MemoryLine {
    const line = this.state.lines.get(name) ?? new MemoryLine();
    this.state.lines.set(name, line);
    return line;
  }

  private busy(
    name: string,
    live: ReadonlyMap<string, Holder>,
    { returnsMs = Infinity, closedMs }: Extract<RoomChoice, { permit: undefined }>,
    now: Instant,
    place: Place | undefined,
  ): BusyReply {
    const standing = place && this.lineOf(name).stand(place, now.monoMs);
    const held = [...live.values()];
    const ends = Math.min(returnsMs, ...held.map(({ expiresAt }) => remainingMs(expiresAt, now)));
    const longest = Math.max(-1, ...held.map(({ since }) => elapsedMs(since, now)));
    return {
      status: 'busy',
      remainingMs: Number.isFinite(ends) ? ends : undefined,
      heldForMs: longest < 0 ? undefined : longest,
      queued: this.state.lines.get(name)?.length ?? 0,
      ticket: undefined,
      ...standing,
      closedMs,
    };
  }

  /** A permit may be free: it is kept for the first in line, which is told unless it is asking itself. */
  private passOn(name: string, now: Instant, asking?: string): void {
    const line = this.state.lines.get(name);
    const head = line?.first(undefined, now.monoMs);
    if (!line || head === undefined) {
      this.state.lines.delete(name);
      return;
    }
    if (this.room.choose(name, permitsOf(this.state.live(name, now)), now).permit === undefined)
      return;
    if (line.reserve(head, now.monoMs).isNew) this.wake(name, asking);
  }

  private wake(name: string, asking?: string): void {
    const [head, standby] = this.state.lines.get(name)?.toWake() ?? [];
    // Not before the caller's own step is complete, as a message would not be.
    queueMicrotask(() => {
      if (head !== undefined && head !== asking) this.state.listeners.get(head)?.(name, 'turn');
      if (standby !== undefined) this.state.listeners.get(standby)?.(name, 'standby');
    });
  }
}

function permitsOf(live: ReadonlyMap<string, Holder>): string[] {
  return [...live.values()].map(({ permit }) => permit);
}

/** A command that comes late must not shorten a life. */
function lengthen(holder: Holder, ttlMs: number, now: Instant): void {
  if (remainingMs(holder.expiresAt, now) < ttlMs) holder.expiresAt = plusMs(now, ttlMs);
}
