import type { CancelTimer, Clock } from '../../core/clock.js';
import type { RedlockNode } from './redlock-node.js';

/** So that processes that wait for one lock do not all ask in the same millisecond, and split the nodes. */
const JITTER_MS = 10;

interface Waiting {
  readonly processes: Set<string>;
  stops: (() => void)[];
  cancelTimer?: CancelTimer | undefined;
}

/**
 * Who waits for which lock in this process. While somebody does, there is a subscription on every
 * node to the lock's own channel, on which its release is announced. Messages may be lost: whoever
 * waits looks by itself, too.
 */
export class FreeHints {
  private readonly waiting = new Map<string, Waiting>();

  constructor(
    private readonly nodes: readonly RedlockNode[],
    private readonly clock: Clock,
    private readonly wake: (process: string, name: string) => void,
  ) {}

  wait(name: string, process: string): void {
    const known = this.waiting.get(name);
    if (known) {
      known.processes.add(process);
      return;
    }
    const entry: Waiting = { processes: new Set([process]), stops: [] };
    this.waiting.set(name, entry);
    entry.stops = this.nodes.map((node) => node.onFree(name, () => this.mayBeFree(name, entry)));
  }

  leave(name: string, process: string): void {
    const entry = this.waiting.get(name);
    entry?.processes.delete(process);
    if (!entry || entry.processes.size > 0) return;
    this.waiting.delete(name);
    entry.cancelTimer?.();
    for (const stop of entry.stops) stop();
  }

  close(): void {
    for (const [name, { processes }] of this.waiting) {
      for (const process of processes) this.leave(name, process);
    }
  }

  /** Several nodes say it at about the same time; one look is enough for those. */
  private mayBeFree(name: string, entry: Waiting): void {
    entry.cancelTimer ??= this.clock.setTimer(() => {
      entry.cancelTimer = undefined;
      for (const process of entry.processes) this.wake(process, name);
    }, this.clock.jitterMs(JITTER_MS));
  }
}
