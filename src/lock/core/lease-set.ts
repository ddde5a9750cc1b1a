import type { HeldLease, Lease, ReleaseOutcome } from './lease.js';
import { LockName } from './lock-name.js';
import { LockLostError, LockOptionsError } from './lock.errors.js';

/**
 * Several leases that were taken together: valid while all of them are. Has no single fence: ask
 * `fenceOf(name)`.
 */
export class LeaseSet implements Lease {
  readonly name: string;
  private anySignal: AbortSignal | undefined;

  constructor(readonly leases: readonly HeldLease[]) {
    this.name = leases.map(({ name }) => name).join(' + ');
  }

  get ttlMs(): number {
    return Math.min(...this.leases.map(({ ttlMs }) => ttlMs));
  }

  get storeTimeMs(): number {
    return Math.max(...this.leases.map(({ storeTimeMs }) => storeTimeMs));
  }

  get signal(): AbortSignal {
    this.anySignal ??= AbortSignal.any(this.leases.map(({ signal }) => signal));
    return this.anySignal;
  }

  get remainingMs(): number {
    return Math.min(...this.leases.map(({ remainingMs }) => remainingMs));
  }

  /** @throws LockOptionsError always: each name has its own */
  get fence(): bigint {
    throw this.ambiguous('fence: call fenceOf(name)');
  }

  /** @throws LockOptionsError always: each lease has its own */
  get shared(): SharedArrayBuffer {
    throw this.ambiguous('shared state: pass on leases[i].shared');
  }

  get isOpen(): boolean {
    return this.leases.some(({ isOpen }) => isOpen);
  }

  /** The first loss of them, as of one lease. */
  get loss(): LockLostError | undefined {
    return this.leases.find(({ loss }) => loss)?.loss;
  }

  fenceOf(name: string | LockName): bigint {
    const { escaped } = LockName.of(name);
    const lease = this.leases.find((one) => one.name === escaped);
    if (!lease) throw new LockOptionsError(`"${escaped}" is none of ${this.name}.`);
    return lease.fence;
  }

  assertHeld(): void {
    for (const lease of this.leases) lease.assertHeld();
  }

  async extend(ttlMs: number): Promise<boolean> {
    const renewed = await Promise.all(this.leases.map((lease) => lease.extend(ttlMs)));
    return renewed.every((one) => one);
  }

  /** Releases all; the outcome is `released` only if that of each is. */
  async release(): Promise<ReleaseOutcome> {
    const outcomes = await Promise.all(this.leases.map((lease) => lease.release()));
    return (
      outcomes.find((one) => one === 'unknown') ??
      outcomes.find((one) => one === 'not-held') ??
      'released'
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  private ambiguous(what: string): LockOptionsError {
    return new LockOptionsError(`The locks ${this.name} have no common ${what}.`, this.name);
  }
}
