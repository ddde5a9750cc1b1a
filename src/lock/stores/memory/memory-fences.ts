import type { Instant } from '../../core/clock.js';
import { GradualSweep } from './gradual-sweep.js';

/** As long as the Redis store keeps a fence after its grant. */
const FENCE_LIFE_MS = 86_400_000;

/** The last fence of every name, kept for a day. */
export class MemoryFences {
  private readonly fences = new Map<string, bigint>();
  private readonly sweep = new GradualSweep<string, bigint, bigint>(
    this.fences,
    (name, fence, oldest) => {
      if (fence < oldest) this.fences.delete(name);
    },
  );

  /** `onMint` is called with each new fence, for others to forget what is over, too. */
  constructor(private readonly onMint: (now: Instant) => void) {}

  /** Above all earlier ones of the name, and at least the clock's microseconds. */
  mint(name: string, now: Instant): bigint {
    const clockMicros = BigInt(Math.floor(now.wallMs * 1000));
    const last = this.fences.get(name) ?? 0n;
    const fence = clockMicros > last ? clockMicros : last + 1n;
    this.sweep.step(BigInt(Math.floor((now.wallMs - FENCE_LIFE_MS) * 1000)));
    this.fences.set(name, fence);
    this.onMint(now);
    return fence;
  }
}
