import { Inject, Injectable, Logger, ServiceUnavailableException } from '@nestjs/common';
import {
  HealthCheckService,
  type HealthCheckResult,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { VECTOR_STORE, type VectorStore } from '../documents/index.js';
import { Drain } from '../http/index.js';
import { type Check, NotReadyError } from './health.errors.js';
import { ReplicaClock } from './replica-clock.js';

/** Whether this replica should get requests. */
@Injectable()
export class Readiness {
  private readonly logger = new Logger(Readiness.name);
  private reported = '';

  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly drain: Drain,
    private readonly clock: ReplicaClock,
    @Inject(VECTOR_STORE) private readonly vectors: VectorStore,
  ) {}

  /**
   * Looks at everything a request needs; costs one grant of a probe lock and two small queries.
   * Why a part is down names servers, so it is for the log, once for each change.
   * @throws NotReadyError with all results when a part is down or the shutdown has begun
   */
  async check(): Promise<HealthCheckResult> {
    const accepting = this.indicators.check('accepting');
    const [database, locks] = [this.clock.pingDatabase(), this.clock.probeLocks()];
    try {
      const result = await this.health.check([
        () => (this.drain.isLeaving ? accepting.down('shutting down') : accepting.up()),
        () => this.indicators.check('database').attempt(() => database),
        () => this.indicators.check('locks').attempt(() => locks),
        () => this.indicators.check('vectors').attempt(() => this.vectors.ping()),
        () => this.clockAfter([database, locks]),
      ]);
      this.report({});
      return result;
    } catch (error) {
      if (!(error instanceof ServiceUnavailableException)) throw error;
      const found = detailsOf(error);
      this.report(found);
      throw new NotReadyError(withoutReasons(found), { cause: error });
    }
  }

  /** A wrong clock breaks nothing that must be right: the replica serves, and says so. */
  private async clockAfter(questions: readonly Promise<void>[]): Promise<HealthIndicatorResult> {
    await Promise.allSettled(questions);
    const clock = this.indicators.check('clock');
    const { aheadMs } = this.clock;
    return aheadMs === null ? clock.up() : clock.degraded({ aheadMs });
  }

  private report(found: Findings): void {
    const reasons = Object.entries(found).flatMap(([part, { message }]) => {
      return message === undefined ? [] : [`${part} (${message})`];
    });
    const all = reasons.join(', ');
    if (all !== '' && all !== this.reported) this.logger.warn(`Not ready: ${all}`);
    this.reported = all;
  }
}

type Findings = Readonly<Record<string, Check & { readonly message?: string }>>;

/** What terminus found out, part by part. */
function detailsOf(error: ServiceUnavailableException): Findings {
  const { details = {} } = error.getResponse() as { readonly details?: Findings };
  return details;
}

function withoutReasons(found: Findings): Record<string, Check> {
  const checks = Object.entries(found).map(([part, { status, responseTime }]) => {
    return [part, { status, ...(responseTime !== undefined && { responseTime }) }] as const;
  });
  return Object.fromEntries(checks);
}
