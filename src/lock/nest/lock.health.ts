import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Lease } from '../core/lease.js';
import { LockBusyError, LockUnavailableError } from '../core/lock.errors.js';
import { LockService } from './lock.service.js';

/** Or the TTL of the locks it stands for, where that is less: a store need not be made for longer ones. */
const PROBE_TTL_MS = 3_000;

/** What a probe has found out. */
export interface LockProbe {
  /** The store's own clock at the grant, in ms since the epoch; this process's where the store has none. */
  readonly storeTimeMs: number;
}

/** Tells whether locks can be had, by taking one. For readiness checks. */
@Injectable()
export class LockHealth {
  private readonly name = `probe:${randomUUID()}`; // one per process, so that replicas do not meet
  private underWay: Promise<LockProbe> | undefined;

  constructor(private readonly locks: LockService) {}

  /**
   * Takes and releases a lock of its own: two round trips, shared by callers at the same time. The
   * attempt is bounded by `commandTimeoutMs`, at most a second.
   * @throws LockUnavailableError when the store gives no grant, or no answer to the release
   */
  probe(): Promise<LockProbe> {
    this.underWay ??= this.takeAndRelease().finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
  }

  private async takeAndRelease(): Promise<LockProbe> {
    const lease = await this.take();
    const outcome = await lease.release();
    if (outcome === 'released') return { storeTimeMs: lease.storeTimeMs };
    throw new LockUnavailableError(this.name, `the release of a probe was answered "${outcome}"`);
  }

  private async take(): Promise<Lease> {
    try {
      const ttlMs = Math.min(PROBE_TTL_MS, this.locks.defaults.ttlMs);
      return await this.locks.acquire(this.name, { ttlMs, waitMs: 0 });
    } catch (error) {
      if (!(error instanceof LockBusyError)) throw error;
      const why = 'an earlier probe, whose outcome is unknown, still holds it';
      throw new LockUnavailableError(this.name, why, { cause: error });
    }
  }
}
