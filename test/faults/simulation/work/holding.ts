import type { Lease } from '../../../../src/lock/core/lease.js';
import { LockLostError } from '../../../../src/lock/core/lock.errors.js';
import type { World } from '../world/world.js';
import type { SimulatedProcess } from './simulated-process.js';

/** A lease at work, noting what it claims. Claims nothing more once its signal has aborted. */
export class Holding {
  private over: 'released' | 'lost' | undefined;

  constructor(
    private readonly world: World,
    private readonly process: SimulatedProcess,
    readonly id: string,
    readonly lease: Lease,
  ) {
    world.note({ kind: 'enter', id, fence: lease.fence, ...this.claim() });
    const onAbort = () => {
      const reason: unknown = lease.signal.reason;
      this.leave(
        reason instanceof LockLostError && reason.reason === 'RELEASED' ? 'released' : 'lost',
      );
    };
    if (lease.signal.aborted) onAbort();
    else lease.signal.addEventListener('abort', onAbort, { once: true });
  }

  /** Just now `assertHeld` did not throw. */
  proven(): void {
    if (!this.over) this.world.note({ kind: 'proven', id: this.id, ...this.claim() });
  }

  /** The work is over. To be called before the release is begun. */
  end(): void {
    if (this.over === 'lost') this.world.note({ kind: 'let-go', id: this.id });
    else this.leave('released');
  }

  private leave(why: 'released' | 'lost'): void {
    if (this.over) return;
    this.over = why;
    this.world.note({ kind: 'exit', id: this.id, why });
  }

  private claim() {
    const { remainingMs, ttlMs } = this.lease;
    const until = this.world.scheduler.now + this.process.clock.worldMs(remainingMs);
    return { until, ttlMs };
  }
}
