import type { Instant } from '../../core/clock.js';

/** As long as the Redis store keeps a fence after its grant. */
const FENCE_LIFE_MS = 86_400_000;
const SWEEP_EVERY = 10_000;

/** The last fence of every name, kept for a day. */
export class MemoryFences {
  private readonly fences = new Map<string, bigint>();
  private grantsUntilSweep = SWEEP_EVERY;

  /** `onSweep` is called now and then, for others to forget what is over, too. */
  constructor(private readonly onSweep: (now: Instant) => void = () => undefined) {}

  /** Above all earlier ones of the name, and at least the clock's microseconds. */
  mint(name: string, now: Instant): bigint {
    const clockMicros = BigInt(Math.floor(now.wallMs * 1000));
    const last = this.fences.get(name) ?? 0n;
    const fence = clockMicros > last ? clockMicros : last + 1n;
    this.fences.set(name, fence);
    this.grantsUntilSweep -= 1;
    if (this.grantsUntilSweep === 0) this.sweep(now);
    return fence;
  }

  private sweep(now: Instant): void {
    this.grantsUntilSweep = SWEEP_EVERY;
    const oldest = BigInt(Math.floor((now.wallMs - FENCE_LIFE_MS) * 1000));
    for (const [name, fence] of this.fences) if (fence < oldest) this.fences.delete(name);
    this.onSweep(now);
  }
}
