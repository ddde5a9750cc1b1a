import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { ReleaseOutcome } from '../core/lease.js';
import { LockBusyError, LockUnavailableError } from '../core/lock.errors.js';
import { LockService } from './lock.service.js';

/** Or the TTL of the locks it stands for, where that is less: a store need not be made for longer ones. */
const PROBE_TTL_MS = 3_000;

/** Tells whether locks can be had, by taking one. For readiness checks. */
@Injectable()
export class LockHealth {
  private readonly name = `probe:${randomUUID()}`; // one per process, so that replicas do not meet
  private underWay: Promise<void> | undefined;

  constructor(private readonly locks: LockService) {}

  /**
   * Takes and releases a lock of its own: two round trips, shared by callers at the same time. The
   * attempt is bounded by `commandTimeoutMs`, at most a second.
   * @throws LockUnavailableError when the store gives no grant, or no answer to the release
   */
  probe(): Promise<void> {
    this.underWay ??= this.takeAndRelease().finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
  }

  private async takeAndRelease(): Promise<void> {
    const outcome = await this.tryOnce();
    if (outcome === 'released') return;
    throw new LockUnavailableError(this.name, `the release of a probe was answered "${outcome}"`);
  }

  private async tryOnce(): Promise<ReleaseOutcome> {
    try {
      const ttlMs = Math.min(PROBE_TTL_MS, this.locks.defaults.ttlMs);
      const lease = await this.locks.acquire(this.name, { ttlMs, waitMs: 0 });
      return await lease.release();
    } catch (error) {
      if (!(error instanceof LockBusyError)) throw error;
      const why = 'an earlier probe, whose outcome is unknown, still holds it';
      throw new LockUnavailableError(this.name, why, { cause: error });
    }
  }
}
