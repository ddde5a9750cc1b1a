import type { LockStore } from './lock-store.js';
import { LockOptionsError } from './lock.errors.js';

/** With it, fences that are a clock's microseconds stay exact numbers (below 2^53) until the year 2112. */
const MOST_BASE = 2n ** 52n;

/**
 * By how much fences that are a clock's time (in us) may be behind the highest: a day, as long as a store keeps
 * the last fence of a name. One clock that was stepped for a while must not shut out all names.
 */
const CLOCKS_APART = 86_400_000_000n;

/** What makes the fences of one store comparable with those of another. */
export interface FenceOptions {
  /**
   * Added to every fence. Fences of different stores do not compare: whoever changes the store sets it
   * so high that the next fence is above all earlier ones. A whole number from 0 to 2^52.
   * @default 0
   */
  readonly fenceBase?: bigint | number | undefined;
  /**
   * The highest fence in the data that these locks guard, where the application knows it. A grant whose
   * fence is not above it is given back, and `check` refuses a store that mints so low: its holders'
   * writes would all be refused. Where fences are made of a clock's time they may be a day behind: a clock
   * that was stepped concerns the names that were written meanwhile, and heals by itself.
   */
  readonly highestFence?: bigint | undefined;
}

/** What becomes of the fences that a store mints. */
export class FenceRule {
  private readonly base: bigint;
  private readonly highest: bigint;
  private readonly kind: string;
  private readonly isClock: boolean;
  /** There are earlier fences to compare with. */
  readonly hasEarlier: boolean;

  /** @throws LockOptionsError */
  constructor(
    { fenceBase = 0, highestFence = 0n }: FenceOptions = {},
    /** Needed where there is a highest fence. */
    store?: Pick<LockStore, 'kind' | 'capabilities'>,
  ) {
    if (!isBase(fenceBase)) {
      throw new LockOptionsError(
        `fenceBase is ${String(fenceBase)}; it must be a whole number, or a bigint, from 0 to ${MOST_BASE} (2^52).`,
      );
    }
    if (typeof highestFence !== 'bigint') {
      throw new LockOptionsError(
        `highestFence is ${String(highestFence)}; it must be a bigint, as fences are.`,
      );
    }
    this.base = BigInt(fenceBase);
    this.highest = highestFence;
    this.hasEarlier = highestFence > 0n;
    this.kind = store?.kind ?? 'unknown';
    // A store that can lose everything and mint higher fences all the same takes them from a clock.
    this.isClock = store?.capabilities.fencesSurviveLoss ?? false;
  }

  /** The fence of a lease whose store minted `minted`. */
  of(minted: bigint): bigint {
    return this.base + minted;
  }

  /** Why nobody may work under this fence, with cause and fix; undefined where somebody may. */
  objection(fence: bigint): string | undefined {
    if (!this.hasEarlier) return undefined;
    if (this.isClock ? fence + CLOCKS_APART >= this.highest : fence > this.highest)
      return undefined;
    const needed = this.highest - fence + this.base + 1n;
    const setBase = `stop all processes and set fenceBase (LOCK_FENCE_BASE) to ${needed}`;
    const causeAndFix = this.isClock
      ? `The fences of "${this.kind}" are its servers' time, so their clock is ${(this.highest - fence) / 1_000_000n} s behind, or the one that made the earlier fences was ahead. Set the clock right; or ${setBase}.`
      : `The lock store was changed to "${this.kind}", or has lost its data. Go back; or ${setBase}.`;
    return `its fence is ${fence}, but the data hold ${this.highest} already, and would refuse whatever its holder writes. ${causeAndFix}`;
  }
}

function isBase(value: unknown): value is bigint | number {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) return false;
  return BigInt(value as bigint | number) >= 0n && BigInt(value as bigint | number) <= MOST_BASE;
}
