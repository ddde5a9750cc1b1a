import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { type Lease, LockBusyError, lockName, LockService } from '../lock/index.js';
import { IdempotencyInProgressError, IdempotencyKeyReusedError } from './idempotency.errors.js';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from './idempotency-options.js';
import type { IdempotencyRecord, StoredAnswer } from './idempotency-store.js';
import { IdempotentRun } from './idempotent-run.js';

/** A request with a key. */
export interface KeyedRequest {
  /** Names the record and the mark. */
  readonly id: string;
  readonly fingerprint: string;
}

/** The mark comes first and the record a moment later: how often, and how long in ms, one looks for it. */
const lookUps = 10;
const lookUpEveryMs = 20;
// The work ends by limits of its own; its key is taken for as long as it runs.
const mark = { waitMs: 0, maxHoldMs: Infinity };

/** Has the work of a key done once, and its answer given to all who repeat the request. */
@Injectable()
export class IdempotencyService {
  constructor(
    private readonly locks: LockService,
    @Inject(IDEMPOTENCY_OPTIONS) private readonly options: IdempotencyOptions,
  ) {}

  /**
   * Does the work, which must end its run (`finish` or `drop`), or gives the answer that is kept. The
   * mark is a lock, `idem:<id>`: renewed while the work runs, and gone one lease after a crash. Costs,
   * beside the work, two commands to the lock store and two to the store of records.
   * @throws IdempotencyKeyReusedError, IdempotencyInProgressError, LockUnavailableError, the store's
   * trouble; and what the work throws
   */
  async once<T>(
    { id, fingerprint }: KeyedRequest,
    work: (run: IdempotentRun) => Promise<T>,
  ): Promise<{ readonly replay: StoredAnswer } | { readonly result: T }> {
    const taken = await this.take(id, fingerprint);
    if ('replay' in taken) return taken;
    const { lease } = taken;
    const grantedAt = performance.now();
    const { store, ttlMs } = this.options;
    try {
      const { fence } = lease;
      const nowMs = () => lease.storeTimeMs + performance.now() - grantedAt;
      const reply = await store.begin(id, { fingerprint, fence, nowMs: nowMs() });
      if (reply === 'begun') {
        return { result: await work(new IdempotentRun({ store, id, fence, ttlMs, nowMs })) };
      }
      const replay = reply === 'stale' ? null : answerFor(reply, fingerprint);
      if (replay) return { replay };
      throw new IdempotencyInProgressError(1); // the mark was lost before the work began
    } finally {
      await lease.release();
    }
  }

  private async take(
    id: string,
    fingerprint: string,
  ): Promise<{ readonly lease: Lease } | { readonly replay: StoredAnswer }> {
    try {
      return { lease: await this.locks.acquire(lockName`idem:${id}`, mark) };
    } catch (error) {
      if (!(error instanceof LockBusyError)) throw error;
      const record = await this.recordOfHolder(id);
      const replay = record && answerFor(record, fingerprint);
      if (replay) return { replay };
      throw new IdempotencyInProgressError(retryAfterSeconds(error));
    }
  }

  private async recordOfHolder(id: string): Promise<IdempotencyRecord | null> {
    for (let look = 1; ; look += 1) {
      const record = await this.options.store.find(id);
      if (record !== null || look === lookUps) return record;
      await delay(lookUpEveryMs);
    }
  }
}

/** @throws IdempotencyKeyReusedError when the record is another request's */
function answerFor(record: IdempotencyRecord, fingerprint: string): StoredAnswer | null {
  if (record.fingerprint !== fingerprint) throw new IdempotencyKeyReusedError();
  return record.answer;
}

function retryAfterSeconds({ retryAfterMs, remainingMs = Infinity }: LockBusyError): number {
  return Math.max(1, Math.ceil(Math.min(retryAfterMs, remainingMs) / 1000));
}
