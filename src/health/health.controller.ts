import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult } from '@nestjs/terminus';
import { Problems, Rules } from '../http/index.js';
import { Readiness } from './readiness.js';

/** What an orchestrator asks. */
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process answers at all; says nothing about what it depends on, so that an outage does not restart it. */
  @Get('live')
  @Rules({ rate: 0 })
  @HealthCheck()
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** The replica can serve: 200, or 503 with what is missing. */
  @Get('ready')
  @Problems('not_ready')
  @Rules({ rate: 0 })
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.readiness.check();
  }
}
