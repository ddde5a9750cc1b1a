import { Module } from '@nestjs/common';
import { LocksController } from './locks.controller.js';
import { LocksService } from './locks.service.js';

/** What administrators do over HTTP. */
@Module({ controllers: [LocksController], providers: [LocksService] })
export class AdministrationModule {}
