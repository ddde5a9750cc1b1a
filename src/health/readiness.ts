import { Inject, Injectable, ServiceUnavailableException } from '@nestjs/common';
import {
  HealthCheckService,
  type HealthCheckResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { Database } from '../database/index.js';
import { VECTOR_STORE, type VectorStore } from '../documents/index.js';
import { Drain } from '../http/index.js';
import { LockHealth } from '../lock/index.js';
import { NotReadyError } from './health.errors.js';

/** Whether this replica should get requests. */
@Injectable()
export class Readiness {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly drain: Drain,
    private readonly database: Database,
    private readonly locks: LockHealth,
    @Inject(VECTOR_STORE) private readonly vectors: VectorStore,
  ) {}

  /**
   * Looks at everything a request needs; costs one grant of a probe lock and two small queries.
   * @throws NotReadyError with all results when a part is down or the shutdown has begun
   */
  async check(): Promise<HealthCheckResult> {
    const accepting = this.indicators.check('accepting');
    try {
      return await this.health.check([
        () => (this.drain.isLeaving ? accepting.down('shutting down') : accepting.up()),
        () => this.indicators.check('database').attempt(() => this.database.ping()),
        () => this.indicators.check('locks').attempt(() => this.locks.probe()),
        () => this.indicators.check('vectors').attempt(() => this.vectors.ping()),
      ]);
    } catch (error) {
      if (!(error instanceof ServiceUnavailableException)) throw error;
      throw new NotReadyError(detailsOf(error), { cause: error });
    }
  }
}

/** What terminus found out, part by part. */
function detailsOf(error: ServiceUnavailableException): object {
  const result = error.getResponse();
  const details = typeof result === 'object' && 'details' in result ? result.details : {};
  return typeof details === 'object' && details !== null ? details : {};
}
