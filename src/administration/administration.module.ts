import { Module } from '@nestjs/common';
import { LocksController } from './locks.controller.js';
import { LocksService } from './locks.service.js';
import { PoolController } from './pool.controller.js';
import { PoolService } from './pool.service.js';

/** What administrators do over HTTP. */
@Module({
  controllers: [LocksController, PoolController],
  providers: [LocksService, PoolService],
})
export class AdministrationModule {}
