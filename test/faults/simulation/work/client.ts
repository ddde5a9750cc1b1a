import type { Lease } from '../../../../src/lock/core/lease.js';
import { LeaseSet } from '../../../../src/lock/core/lease-set.js';
import {
  LockBusyError,
  LockLostError,
  LockReentryError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from '../../../../src/lock/core/lock.errors.js';
import type { ToldEvent } from '../../checker/history.js';
import type { Random } from '../world/random.js';
import type { World } from '../world/world.js';
import { Holding } from './holding.js';
import type { Resource } from './resource.js';
import type { SimulatedProcess } from './simulated-process.js';
import { drawWish, type Wish } from './wish.js';

const GONE = new Error('the caller has gone');

/** Whose client it is, and what it works on. */
export interface ClientTerms {
  readonly world: World;
  readonly process: SimulatedProcess;
  readonly resource: Resource;
  readonly name: string;
  /** Names under which a lease was not let go, which then lives to its end. */
  readonly leaked: Set<string>;
}

/** Takes locks, works under them and lets them go, one after the other, as its random numbers say. */
export class Client {
  /** It has begun something, or will. */
  isBusy = true;
  private isStopping = false;
  private asks = 0;
  private readonly random: Random;
  private readonly world: World;
  private readonly process: SimulatedProcess;
  private readonly name: string;
  private mayBlock = false;

  constructor(private readonly terms: ClientTerms) {
    ({ world: this.world, process: this.process, name: this.name } = terms);
    this.random = terms.world.random(terms.name);
  }

  /** Finishes what it does, and begins nothing more. */
  stop(): void {
    this.isStopping = true;
  }

  /** `mayBlock`: its work blocks the event loop now and then. Never rejects: trouble is noted. */
  async live(wishes: number, mayBlock: boolean): Promise<void> {
    this.mayBlock = mayBlock;
    try {
      for (let count = 0; count < wishes && !this.isStopping; count += 1) {
        await this.process.sleep(this.random.between(0, 600));
        if (!this.isStopping) await this.fulfil(drawWish(this.random));
      }
    } catch (error) {
      this.world.note({ kind: 'left', what: `an error nobody expects: ${describe(error)}` });
    }
    this.isBusy = false;
  }

  private async fulfil(wish: Wish): Promise<void> {
    const { names, options, goneAfterMs } = wish;
    const name = names[0] as string;
    if (wish.call === 'revoke') {
      await this.process.locks.revoke(name).catch(expectUnavailable);
      return;
    }
    const number = (this.asks += 1);
    const ids = names.map((one) => `${this.name}#${number}${names.length > 1 ? `:${one}` : ''}`);
    const patienceMs = this.process.clock.worldMs(wish.patienceMs);
    for (const [index, id] of ids.entries()) {
      const asked = { id, name: names[index] as string, process: this.process.name, patienceMs };
      this.world.note({ kind: 'ask', ...asked, inSet: names.length > 1 });
    }
    const gone = new AbortController();
    if (goneAfterMs !== undefined) {
      void this.process.sleep(goneAfterMs).then(() => gone.abort(GONE));
    }
    const given = { ...options, signal: gone.signal };
    const { locks } = this.process;
    let hasEntered = false;
    const work = async (lease: Lease) => {
      hasEntered = true;
      await this.work(lease, ids, wish);
    };
    try {
      if (wish.call === 'run') return await locks.run(name, given, work);
      let lease: Lease | null;
      if (wish.call === 'set') lease = await locks.acquireAll(names, given);
      else if (wish.call === 'try') lease = await locks.tryAcquire(name, given);
      else lease = await locks.acquire(name, given);
      if (!lease) this.told(ids, names, new LockBusyError(name, undefined, 0));
      else await work(lease);
    } catch (error) {
      if (!hasEntered) this.told(ids, names, error);
      else if (!(error instanceof LockLostError)) throw error;
    }
  }

  private told(ids: readonly string[], names: readonly string[], error: unknown): void {
    const answer = answerOf(error);
    const inTheWay = error instanceof LockBusyError ? error.lockName : undefined;
    for (const [index, id] of ids.entries()) {
      const isOther = inTheWay !== undefined && names[index] !== inTheWay;
      this.world.note({ kind: 'told', id, answer: isOther ? 'incomplete' : answer });
    }
  }

  private async work(lease: Lease, ids: readonly string[], wish: Wish): Promise<void> {
    const leases = lease instanceof LeaseSet ? lease.leases : [lease];
    const holdings = leases.map(
      (one, index) => new Holding(this.world, this.process, ids[index] as string, one),
    );
    if (wish.call === 'run') await this.tryToReenter(wish.names[0] as string);
    for (const pauseMs of wish.steps) {
      await this.process.sleep(pauseMs);
      if (this.mayBlock && this.random.chance(0.03)) {
        await this.process.block(this.random.between(10, 3_000));
      }
      // Whoever does not look goes on to write: only the fence stops it.
      if (!wish.isStubborn && !isHeld(lease, holdings)) break;
      for (const holding of holdings) this.write(holding);
      if (wish.isHog && pauseMs === wish.steps[0]) await this.extend(lease, holdings, 15_000);
      else if (this.random.chance(0.1)) {
        await this.extend(lease, holdings, this.random.pick([400, 2_000, 15_000]));
      }
    }
    if (wish.forgets) {
      for (const { lease: one } of holdings) this.terms.leaked.add(one.name);
      return;
    }
    for (const holding of holdings) holding.end();
    if (wish.call !== 'run') await lease.release();
  }

  private write(holding: Holding): void {
    const { id, lease } = holding;
    const isSlow = this.random.chance(0.03);
    const delayMs = isSlow ? this.random.between(10, 4_000) : this.random.between(0.1, 3);
    const { fence, name } = lease;
    this.world.scheduler.after(delayMs, () => this.terms.resource.write(id, name, fence));
  }

  private async extend(lease: Lease, holdings: readonly Holding[], ttlMs: number): Promise<void> {
    try {
      await lease.extend(ttlMs);
      for (const holding of holdings) holding.proven();
    } catch (error) {
      if (!(error instanceof LockLostError)) throw error;
    }
  }

  private async tryToReenter(name: string): Promise<void> {
    if (!this.random.chance(0.1)) return;
    const second = await this.process.locks.tryAcquire(name).catch((error: unknown) => error);
    if (second instanceof LockReentryError) return;
    this.world.note({ kind: 'left', what: `a second lease of "${name}" in one context` });
  }
}

function isHeld(lease: Lease, holdings: readonly Holding[]): boolean {
  try {
    lease.assertHeld();
  } catch (error) {
    if (!(error instanceof LockLostError)) throw error;
    return false;
  }
  for (const holding of holdings) holding.proven();
  return true;
}

function answerOf(error: unknown): ToldEvent['answer'] {
  if (error === GONE) return 'aborted';
  if (error instanceof LockWaitTimeoutError) return 'timed-out';
  if (error instanceof LockBusyError) return 'busy';
  if (error instanceof LockUnavailableError) return 'unavailable';
  if (error instanceof LockLostError) return 'lost';
  throw error;
}

function expectUnavailable(error: unknown): void {
  if (!(error instanceof LockUnavailableError)) throw error;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
