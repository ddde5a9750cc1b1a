import { AsyncLocalStorage } from 'node:async_hooks';
import type { HeldLease, Lease } from './lease.js';
import { LeaseSet } from './lease-set.js';

interface Frame {
  /** The engine whose lock it is: two engines never share a context's lock. */
  readonly owner: object;
  readonly lease: HeldLease | LeaseSet;
  /** Frames that have ended are dropped at the next look: work may begin its next run from within, for ever. */
  outer: Frame | undefined;
}

const frames = new AsyncLocalStorage<Frame>();

/** Runs `work` in a context that holds `lease`. */
export function enterContext<T>(owner: object, lease: HeldLease | LeaseSet, work: () => T): T {
  return frames.run({ owner, lease, outer: openFrame(frames.getStore()) }, work);
}

/** The lease that this async context holds under `name` from `owner`; not one that is released. */
export function heldInContext(owner: object, name: string): HeldLease | undefined {
  for (let frame = openFrame(frames.getStore()); frame; frame = openOuter(frame)) {
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
  return openFrame(frames.getStore())?.lease;
}

/** The first of the frames from here outwards whose lease is not released. */
function openFrame(from: Frame | undefined): Frame | undefined {
  let frame = from;
  while (frame && !frame.lease.isOpen) frame = frame.outer;
  if (from && from !== frame) from.outer = frame;
  return frame;
}

function openOuter(frame: Frame): Frame | undefined {
  frame.outer = openFrame(frame.outer);
  return frame.outer;
}
