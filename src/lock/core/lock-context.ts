import { AsyncLocalStorage } from 'node:async_hooks';
import type { HeldLease, Lease } from './lease.js';
import { LeaseSet } from './lease-set.js';

interface Frame {
  /** The engine whose lock it is: two engines never share a context's lock. */
  readonly owner: object;
  readonly lease: HeldLease | LeaseSet;
  readonly outer: Frame | undefined;
}

const frames = new AsyncLocalStorage<Frame>();

/** Runs `work` in a context that holds `lease`. */
export function enterContext<T>(owner: object, lease: HeldLease | LeaseSet, work: () => T): T {
  return frames.run({ owner, lease, outer: frames.getStore() }, work);
}

/** The lease that this async context holds under `name` from `owner`; not one that is released. */
export function heldInContext(owner: object, name: string): HeldLease | undefined {
  for (let frame = frames.getStore(); frame; frame = frame.outer) {
    if (frame.owner !== owner) continue;
    const leases = frame.lease instanceof LeaseSet ? frame.lease.leases : [frame.lease];
    const held = leases.find((lease) => lease.name === name && lease.isOpen);
    if (held) return held;
  }
  return undefined;
}

/**
 * The innermost lease that `run` or `@WithLock` holds for this async context; undefined outside,
 * and in what goes on after the work's end. A lost lease is still given: its signal tells.
 */
export function currentLease(): Lease | undefined {
  for (let frame = frames.getStore(); frame; frame = frame.outer) {
    if (frame.lease.isOpen) return frame.lease;
  }
  return undefined;
}
