import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { DocumentsModule } from '../documents/index.js';
import { HealthController } from './health.controller.js';
import { Readiness } from './readiness.js';
import { ReplicaClock } from './replica-clock.js';

/** `/health/live` and `/health/ready`. */
@Module({
  imports: [TerminusModule.forRoot({ logger: false }), DocumentsModule],
  controllers: [HealthController],
  providers: [Readiness, ReplicaClock],
})
export class HealthModule {}
